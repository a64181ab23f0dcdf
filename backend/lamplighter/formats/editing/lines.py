"""Texts line by line: their difference, and the merge of two changes of one text."""

import difflib
from collections.abc import Sequence
from typing import Final

CONTEXT_LINES: Final = 2
Change = tuple[int, int, list[str]]


def diff(before: str, after: str) -> str:
    """Return the difference of two texts as a unified diff without file names."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), n=CONTEXT_LINES, lineterm=""
    )
    return "\n".join(list(lines)[2:])


def merge(base: str, ours: str, theirs: str) -> str | None:
    """Return a text with both changes of it; None where they touch the same lines."""
    lines = base.splitlines(keepends=True)
    one, other = (_changes(lines, each.splitlines(keepends=True)) for each in (ours, theirs))
    if any(_touch(a, b) for a in one for b in other):
        return None
    for low, high, new in sorted([*one, *other], key=lambda each: each[0], reverse=True):
        lines[low:high] = new
    return "".join(lines)


def _changes(base: Sequence[str], changed: Sequence[str]) -> list[Change]:
    codes = difflib.SequenceMatcher(None, base, changed, autojunk=False).get_opcodes()
    return [
        (low, high, list(changed[start:stop]))
        for kind, low, high, start, stop in codes
        if kind != "equal"
    ]


def _touch(one: Change, other: Change) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
