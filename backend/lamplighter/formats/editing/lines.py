"""Texts line by line: their difference, and the merge of two changes of one text."""

import difflib
from collections.abc import Sequence
from typing import Final

CONTEXT_LINES: Final = 2
MAX_EXACT: Final = 1_000
"""Above this number of lines, frequent lines are not matched first: that would be quadratic."""

Change = tuple[int, int, list[str]]


def diff(before: str, after: str) -> str:
    """Return the difference of two texts as a unified diff without file names."""
    base, groups = before.splitlines(), list[list[Change]]()
    for change in _changes(base, after.splitlines()):
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT_LINES:
            groups[-1].append(change)
        else:
            groups.append([change])
    lines, moved = list[str](), 0
    for group in groups:
        more = sum(len(new) - (high - low) for low, high, new in group)
        lines += _hunk(base, group, moved, more)
        moved += more
    return "\n".join(lines)


def _hunk(base: Sequence[str], group: Sequence[Change], moved: int, more: int) -> list[str]:
    """Return some changes with the lines around them; `moved` lines were added before them."""
    at = first = max(0, group[0][0] - CONTEXT_LINES)
    end = min(len(base), group[-1][1] + CONTEXT_LINES)
    lines = [f"@@ -{_span(first, end - first)} +{_span(first + moved, end - first + more)} @@"]
    for low, high, new in group:
        lines += [f" {each}" for each in base[at:low]]
        lines += [f"-{each}" for each in base[low:high]]
        lines += [f"+{each}" for each in new]
        at = high
    return [*lines, *(f" {each}" for each in base[at:end])]


def _span(start: int, length: int) -> str:
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Merge two changes of a text; None if they touch the same lines."""
    lines = base.splitlines(keepends=True)
    one, other = (_changes(lines, each.splitlines(keepends=True)) for each in (ours, theirs))
    if any(_touch(a, b) for a in one for b in other):
        return None
    for low, high, new in sorted([*one, *other], key=lambda each: each[0], reverse=True):
        lines[low:high] = new
    return "".join(lines)


def _changes(base: Sequence[str], changed: Sequence[str]) -> list[Change]:
    first, end = _equal_ends(base, changed)
    one, other = base[first : len(base) - end], changed[first : len(changed) - end]
    exact = len(one) + len(other) <= MAX_EXACT
    codes = difflib.SequenceMatcher(None, one, other, autojunk=not exact).get_opcodes()
    return [
        (first + low, first + high, list(other[start:stop]))
        for kind, low, high, start, stop in codes
        if kind != "equal"
    ]


def _equal_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many lines two texts share at their beginning, and how many at their end."""
    least, start, end = min(len(one), len(other)), 0, 0
    while start < least and one[start] == other[start]:
        start += 1
    while end < least - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return start, end


def _touch(one: Change, other: Change) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
