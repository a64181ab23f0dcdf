"""Suggestions for an unknown word."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from lamplighter.config.readers import DAY_SECONDS, nearest_word, parse_duration
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.text import one_line, shorten

FILE_BYTES: Final = 1024 * 1024
DEPTH: Final = 20
SUGGESTED: Final = 100
"""How many problems get a suggestion: finding one takes time, and long lists are not read."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_NODE_NAMES: Final = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "seq": "a list",
    "map": "a mapping",
    "timestamp": "a date",
}


@dataclass(frozen=True, slots=True, order=True)
class FileProblem:
    """An error in the file, and its place; lines and columns count from 1."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class ServicesError(LamplighterError):
    """The file cannot be used; `problems` names every mistake in it, in reading order."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> list[str]:
        """The problems."""
        return [str(problem) for problem in self.problems]


@dataclass(slots=True)
class YamlSheet:
    """The file while it is read, and its errors up to now."""

    path: str
    problems: list[FileProblem] = field(default_factory=list)

    def wrong(self, node: yaml.Node, message: str) -> None:
        """Note a mistake at a node."""
        self.note(node.start_mark.line, node.start_mark.column, message)

    def note(self, line: int, column: int, message: str) -> None:
        """Note a mistake at a place, counted from 0."""
        words = shorten(one_line(message), 300)
        self.problems.append(FileProblem(self.path, line + 1, column + 1, words))

    def stop_if_wrong(self) -> None:
        """Stop if there were errors up to now."""
        if self.problems:
            raise ServicesError(self.problems)

    def text(self, path: Path) -> str:
        """Return the text of the file; stops if it is too large, not text or missing."""
        try:
            with path.open("rb") as file:
                raw = file.read(FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            self.note(0, 0, f"cannot be read: {getattr(error, 'strerror', None) or error}")
            raise ServicesError(self.problems) from error
        if len(raw) > FILE_BYTES:
            self.note(0, 0, "the file is larger than 1 MiB")
        try:
            text = raw[:FILE_BYTES].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8", "replace")
            self.note(before.count("\n"), len(before.rpartition("\n")[2]), "not UTF-8")
            text = ""
        self.stop_if_wrong()
        return text

    def root(self, text: str) -> yaml.Node | None:
        """Return the outermost node, None of an empty file; not YAML is the end."""
        if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
            before = text[: odd.start()]
            place = before.count("\n"), len(before.rpartition("\n")[2])
            self.note(*place, f"an unprintable character: U+{ord(odd[0]):04X}")
            self.stop_if_wrong()
        try:
            self._bounded(text)
            return yaml.compose(text, _LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line, mark.column) if mark else (0, 0)
            self.note(*place, f"not YAML: {error.problem or error.context}")
        except (yaml.YAMLError, ValueError) as error:
            self.note(0, 0, f"not YAML: {error}")
        raise ServicesError(self.problems)

    def _bounded(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, _LOADER):
            if isinstance(event, yaml.AliasEvent):
                self.wrong(event, "aliases are not supported; write the value out")  # type: ignore[arg-type]  # an event has its marks too
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                self.wrong(event, f"nested deeper than {DEPTH} levels")  # type: ignore[arg-type]  # as above
                break
        self.stop_if_wrong()

    def mapping(
        self, node: yaml.Node, expected: str, keys: Sequence[str] | None = None
    ) -> dict[str, yaml.Node]:
        """Return the values by key; reports duplicate keys and keys that are not in `keys`."""
        values: dict[str, yaml.Node] = {}
        for key, value in self.pairs(node, expected):
            if (name := self.string(key, "a key")) is None:
                continue
            if name in values:
                self.wrong(key, f"duplicate key {name!r}")
            elif keys and name not in keys:
                self.wrong(key, f"unknown key {name!r}{self.hint(name, keys)}")
            values.setdefault(name, value)
        return values

    def pairs(self, node: yaml.Node, expected: str) -> list[tuple[yaml.Node, yaml.Node]]:
        """Return the keys and values of a mapping, including duplicates."""
        if isinstance(node, yaml.MappingNode):
            return list(node.value)
        self.wrong(node, f"found {describe_node(node)}, wanted {expected}")
        return []

    def hint(self, word: str, words: Iterable[str]) -> str:
        """Return `; did you mean …?` if a known word is similar, else an empty text."""
        near = nearest_word(word, words) if len(self.problems) < SUGGESTED else None
        return f"; did you mean {near!r}?" if near else ""

    def list(self, node: yaml.Node, expected: str) -> list[yaml.Node]:
        """Return the nodes of a list."""
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        self.wrong(node, f"found {describe_node(node)}, wanted {expected}")
        return []

    def string(self, node: yaml.Node, expected: str) -> str | None:
        """Return a text; None when it is something else."""
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}str":
            return str(node.value)
        quotes = "; put it in quotes" if isinstance(node, yaml.ScalarNode) and node.value else ""
        self.wrong(node, f"found {describe_node(node)}, wanted {expected}{quotes}")
        return None

    def boolean(self, node: yaml.Node) -> bool:
        """Return true or false."""
        if node.tag == f"{_TAG}bool":
            return str(node.value).lower() in ("true", "yes", "on")
        self.wrong(node, f"found {describe_node(node)}, wanted true or false")
        return False

    def number(self, node: yaml.Node, bounds: tuple[int, int]) -> int:
        """Return a whole number within its bounds."""
        if node.tag != f"{_TAG}int" or not re.fullmatch(r"-?[0-9]{1,9}", node.value):
            self.wrong(node, f"found {describe_node(node)}, wanted a whole number")
        elif not bounds[0] <= int(node.value) <= bounds[1]:
            self.wrong(node, f"{node.value} is not between {bounds[0]} and {bounds[1]}")
        else:
            return int(node.value)
        return bounds[0]

    def seconds(
        self, node: yaml.Node, bounds: tuple[float, float], such_as: str = "500ms, 2s or 1m"
    ) -> float:
        """Return a duration in seconds, within its bounds."""
        text = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        read = parse_duration(text)
        if read is None:
            self.wrong(node, f"found {describe_node(node)}, wanted a duration such as {such_as}")
            return bounds[0]
        seconds = round(read, 6)
        if not bounds[0] <= seconds <= bounds[1]:
            self.wrong(
                node, f"{text} is not between {_duration(bounds[0])} and {_duration(bounds[1])}"
            )
        return seconds


def describe_node(node: yaml.Node) -> str:
    """Describe a node in words."""
    return _NODE_NAMES.get(node.tag.removeprefix(_TAG), f"a value tagged {node.tag}")


def _duration(seconds: float) -> str:
    days, rest = divmod(seconds, DAY_SECONDS)
    return f"{days:g} d" if days and not rest else f"{seconds:g} s"
