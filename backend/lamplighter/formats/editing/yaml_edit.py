"""Edits of a YAML file by the places of its values: every other byte stays.

The file is composed into nodes with their places. The new value is compared with each node, and
only the text of differing nodes is replaced. The result is composed again and compared: an edit
either has exactly the intended effect or is refused.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Final

import yaml

from lamplighter.domain.errors import Conflict
from lamplighter.formats.editing.yaml_values import (
    LOADER,
    STEP,
    is_same,
    render_block,
    render_entry,
    render_flow,
    render_item,
    render_scalar,
    value_of,
)

CANNOT: Final = (
    "The app cannot make this change without touching other lines. Edit the file in a text editor."
)
_ANCHOR: Final = re.compile(r"&\S+[ \t]+")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
_DASH: Final = re.compile(r"^[ \t]*(-)(?=\s|\Z)", re.MULTILINE)
_COMMA: Final = re.compile(r"\s*,[ \t]*")
Pair = tuple[yaml.Node, yaml.Node]


def read_yaml(text: str) -> Any:
    """Return the file as a JSON value; None of an empty file."""
    root = yaml.compose(text, LOADER)
    return None if root is None else value_of(root)


def edit_yaml(text: str, target: dict[str, Any]) -> str:
    """Return the file with another value; raises Conflict if that is not possible in place."""
    root = yaml.compose(text, LOADER)
    if root is None or not isinstance(root, yaml.MappingNode):
        if root is not None and value_of(root) is not None:
            raise Conflict(CANNOT)
        return _Places(text).append_lines(render_block(target))
    places = _Places(text)
    try:
        places.mapping(root, target)
        edited = places.apply()
        if is_same(read_yaml(edited), target):
            return edited
    except (yaml.YAMLError, LookupError, TypeError) as error:
        raise Conflict(CANNOT) from error
    raise Conflict(CANNOT)


def path_at(text: str, line: int, column: int) -> tuple[str | int, ...]:
    """Return the keys that lead to a place of the file; line and column count from 1.

    A mapping starts where its first key does: the place is that of the mapping.
    """
    for path, node in _nodes(yaml.compose(text, LOADER), ()):
        if (node.start_mark.line + 1, node.start_mark.column + 1) == (line, column):
            return path
    return ()


def _nodes(
    node: yaml.Node | None, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], yaml.Node]]:
    if node is not None and path:
        yield path, node
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _nodes(value, (*path, str(key.value)))
            yield (*path, str(key.value)), key
    elif isinstance(node, yaml.SequenceNode):
        for place, each in enumerate(node.value):
            yield from _nodes(each, (*path, place))


@dataclass(slots=True)
class _Places:
    """The text, and the replacements gathered so far."""

    text: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def apply(self) -> str:
        """Return the text with all replacements."""
        parts, at = [], 0
        for start, end, new in sorted(self.edits, key=lambda each: each[:2]):
            if start < at:
                raise Conflict(CANNOT)
            parts += [self.text[at:start], new]
            at = end
        return "".join([*parts, self.text[at:]])

    def append_lines(self, lines: Sequence[str]) -> str:
        """Return the text with lines at its end."""
        self.insert_lines(len(self.text), lines)
        return self.apply()

    # positions

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def column(self, at: int) -> int:
        return at - self.line_start(at)

    def is_first(self, at: int) -> bool:
        """Whether only blanks precede a place in its line."""
        return not self.text[self.line_start(at) : at].strip()

    def end(self, node: yaml.Node) -> int:
        """Return the end of a node's text; the marks of a block end at the next token."""
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style not in ("|", ">"):
            return int(end)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self.entry_end(last) if isinstance(last, tuple) else self.end(last)
        return int(start) + len(self.text[start:end].rstrip())

    def entry_end(self, pair: Pair) -> int:
        return max(int(pair[0].end_mark.index), self.end(pair[1]))

    def insert_lines(self, at: int, lines: Sequence[str]) -> None:
        """Insert whole lines before the line that begins at a place."""
        newline = self.newline
        if at == len(self.text) and self.text and not self.text.endswith("\n"):
            self.edits.append((at, at, "".join(newline + line for line in lines)))
        else:
            self.edits.append((at, at, "".join(line + newline for line in lines)))

    # values

    def change(self, node: yaml.Node, target: Any, *, flow: bool) -> None:
        """Make a node have another value."""
        if is_same(value_of(node), target):
            return
        if isinstance(node, yaml.MappingNode) and isinstance(target, dict) and target:
            (self.flow_mapping if node.flow_style else self.mapping)(node, target)
        elif isinstance(node, yaml.SequenceNode) and isinstance(target, list) and target:
            (self.flow_list if node.flow_style else self.block_list)(node, target)
        else:
            self.replace(node, target, flow=flow)

    def replace(self, node: yaml.Node, target: Any, *, flow: bool) -> None:
        """Replace a node by another value; its anchor stays."""
        start, end = int(node.start_mark.index), self.end(node)
        if anchor := _ANCHOR.match(self.text, start, end):
            start = anchor.end()
        if isinstance(target, dict | list):
            new = render_flow(target)
        else:
            style = node.style if isinstance(node, yaml.ScalarNode) else None
            new = render_scalar(target, flow=flow, style=style)
        space = " " if start == end and self.text[start - 1 : start] == ":" else ""
        self.edits.append((start, end, space + new))

    # mappings in block style

    def mapping(self, node: yaml.MappingNode, target: dict[str, Any]) -> None:
        """Change, remove and add the keys of a mapping."""
        pairs: list[Pair] = node.value
        remaining = [pair for pair in pairs if pair[0].value in target]
        if not remaining:
            self._rewrite(pairs, target)
            return
        for key, value in remaining:
            self.entry(key, value, target[key.value])
        self._remove_entries(pairs, remaining)
        self._add_entries(pairs, remaining, target)

    def entry(self, key: yaml.Node, value: yaml.Node, target: Any) -> None:
        """Change the value of a key; one that had none gets its lines."""
        has_none = value.start_mark.index == value.end_mark.index
        _, *lines = render_entry("", target) if has_none else [""]
        if lines:
            pad = " " * self.column(key.start_mark.index)
            self.insert_lines(self.line_end(key.end_mark.index), [pad + each for each in lines])
        else:
            self.change(value, target, flow=False)

    def _rewrite(self, pairs: list[Pair], target: dict[str, Any]) -> None:
        """Write other keys in the place of all keys."""
        start = int(pairs[0][0].start_mark.index)
        pad = self.newline + " " * self.column(start)
        self.edits.append((start, self.entry_end(pairs[-1]), pad.join(render_block(target))))

    def _remove_entries(self, pairs: list[Pair], remaining: list[Pair]) -> None:
        gone = [pair for pair in pairs if pair not in remaining]
        first = int(pairs[0][0].start_mark.index)
        if gone and gone[0] is pairs[0] and not self.is_first(first):
            leading = pairs[: pairs.index(remaining[0])]
            gone = [pair for pair in gone if pair not in leading]
            self._pull_up(leading, remaining[0])
        for pair in gone:
            start = self.line_start(pair[0].start_mark.index)
            self.edits.append((start, self.line_end(self.entry_end(pair)), ""))

    def _pull_up(self, leading: list[Pair], follower: Pair) -> None:
        """Remove the first keys of an item of a list; the next key takes their place."""
        starts = [int(key.start_mark.index) for key, _ in [*leading[1:], follower]]
        ends = [self.entry_end(pair) for pair in leading]
        between = (self.text[end:start] for end, start in zip(ends, starts, strict=True))
        if not any(each.strip() for each in between):
            self.edits.append((int(leading[0][0].start_mark.index), starts[-1], ""))
            return
        for place, (pair, end) in enumerate(zip(leading, ends, strict=True)):
            start = int(pair[0].start_mark.index)
            if place:
                start, end = self.line_start(start), self.line_end(end)
            else:
                end += len(self.text[end:]) - len(self.text[end:].lstrip(" \t"))
            self.edits.append((start, end, ""))

    def _add_entries(
        self, pairs: list[Pair], remaining: list[Pair], target: dict[str, Any]
    ) -> None:
        by_key = {pair[0].value: pair for pair in remaining}
        column = self.column(int(pairs[0][0].start_mark.index))
        spaced = any(self._is_after_blank(pair) for pair in pairs[1:])
        after: Pair | None = None
        for key, value in target.items():
            if key in by_key:
                after = by_key[key]
                continue
            lines = [" " * column + each for each in render_entry(key, value, self._step(pairs))]
            lines = ["", *lines] if spaced and isinstance(value, dict) else lines
            if after is None and self.is_first(int(pairs[0][0].start_mark.index)):
                first = int(remaining[0][0].start_mark.index)
                self.insert_lines(self.line_start(first), lines)
            else:
                self.insert_lines(self.line_end(self.entry_end(after or remaining[0])), lines)

    def _is_after_blank(self, pair: Pair) -> bool:
        start = self.line_start(pair[0].start_mark.index)
        return not self.text[self.line_start(start - 1) : start].strip()

    def _step(self, pairs: list[Pair]) -> int:
        """Return the indentation that the file uses near this place."""
        for key, value in pairs:
            if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
                inner = int(value.value[0][0].start_mark.index)
                step = self.column(inner) - self.column(int(key.start_mark.index))
                return step if step > 0 else STEP
        return STEP

    # lists in block style

    def block_list(self, node: yaml.SequenceNode, target: list[Any]) -> None:
        """Change, remove and add the items of a list."""
        items: list[yaml.Node] = node.value
        dashes = list(self._dashes(node))
        column = self.column(dashes[0])
        in_flow = any(isinstance(each, yaml.MappingNode) and each.flow_style for each in items)
        for old, new in _steps(items, target):
            if isinstance(old, yaml.Node) and new is not _GONE:
                self.change(old, new, flow=False)
            elif isinstance(old, yaml.Node):
                dash = dashes[items.index(old)]
                if not self.is_first(dash):
                    raise Conflict(CANNOT)
                self.edits.append((self.line_start(dash), self.line_end(self.end(old)), ""))
            else:
                rows = [f"- {render_flow(new)}"] if in_flow else render_item(new)
                if not (old or self.is_first(dashes[0])):
                    raise Conflict(CANNOT)
                at = self.line_end(self.end(items[old - 1])) if old else self.line_start(dashes[0])
                self.insert_lines(at, [" " * column + each for each in rows])

    def _dashes(self, node: yaml.SequenceNode) -> Iterator[int]:
        """Return the place of the dash of each item."""
        begin = int(node.start_mark.index)
        if self.text[begin] == "-":
            yield begin
            begin = self.end(node.value[0])
        for item in node.value[begin != int(node.start_mark.index) :]:
            region = self.text[begin : int(item.start_mark.index)]
            found = list(_DASH.finditer(region))
            if not found:
                raise Conflict(CANNOT)
            yield begin + found[0].start(1)
            begin = self.end(item)

    # mappings and lists in flow style

    def flow_mapping(self, node: yaml.MappingNode, target: dict[str, Any]) -> None:
        """Change, remove and add the keys between braces."""
        pairs: list[Pair] = node.value
        spans = [(int(key.start_mark.index), self.entry_end((key, value))) for key, value in pairs]
        mask = [pair[0].value in target for pair in pairs]
        for (key, value), stays in zip(pairs, mask, strict=True):
            if stays:
                self.change(value, target[key.value], flow=True)
        present = {key.value for key, _ in pairs}
        added = [render_flow({k: v})[1:-1] for k, v in target.items() if k not in present]
        self._flow_removals(spans, mask)
        self._flow_addition(node, [e for (_, e), k in zip(spans, mask, strict=True) if k], added)

    def flow_list(self, node: yaml.SequenceNode, target: list[Any]) -> None:
        """Change, remove and add the items between brackets."""
        items: list[yaml.Node] = node.value
        spans = [(int(each.start_mark.index), self.end(each)) for each in items]
        mask = [True] * len(items)
        for old, new in _steps(items, target):
            if isinstance(old, yaml.Node) and new is not _GONE:
                self.change(old, new, flow=True)
            elif isinstance(old, yaml.Node):
                mask[items.index(old)] = False
            elif old:
                self.edits.append((spans[old - 1][1], spans[old - 1][1], f", {render_flow(new)}"))
            elif items:
                self.edits.append((spans[0][0], spans[0][0], f"{render_flow(new)}, "))
            else:
                self._flow_addition(node, [], [render_flow(each) for each in target])
                return
        self._flow_removals(spans, mask)

    def _flow_removals(self, spans: list[tuple[int, int]], mask: list[bool]) -> None:
        last = max((place for place, stays in enumerate(mask) if stays), default=-1)
        for place, (start, end) in enumerate(spans[: last + 1]):
            if not mask[place]:
                comma = _COMMA.match(self.text, end)
                self.edits.append((start, comma.end() if comma else end, ""))
        if last + 1 < len(spans):
            start = spans[last][1] if last >= 0 else spans[0][0]
            self.edits.append((start, spans[-1][1], ""))

    def _flow_addition(self, node: yaml.Node, ends: list[int], added: list[str]) -> None:
        if added and ends:
            self.edits.append((ends[-1], ends[-1], "".join(f", {each}" for each in added)))
        elif added:
            properties = _PROPERTIES.match(self.text, int(node.start_mark.index))
            assert properties is not None
            at = properties.end() + 1
            self.edits.append((at, at, ", ".join(added)))


class _Gone:
    """An item to remove."""


_GONE: Final = _Gone()


def _steps(items: Sequence[yaml.Node], target: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Return the edits of the items: (node, value), (node, gone) or (place, new value)."""
    before = [_identity(value_of(each)) for each in items]
    after = [_identity(each) for each in target]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, low, high, start, stop in matcher.get_opcodes():
        both = min(high - low, stop - start)
        yield from zip(items[low : low + both], target[start : start + both], strict=True)
        for node in items[low + both : high]:
            yield node, _GONE
        for value in target[start + both : stop]:
            yield low + both, value


def _identity(value: Any) -> str:
    """Return the identity of an item: its name, or its first key."""
    if isinstance(value, dict):
        value = value.get("name") or next(iter(value.items()), None)
    return json.dumps(value)
