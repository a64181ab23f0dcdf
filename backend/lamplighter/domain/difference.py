"""How two memory blocks differ, for whoever asks what would be told if."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from lamplighter.domain.context import BULLET, HEADER

MOST_LINES: Final = 4_000
"""Beyond so many lines no context is worked out: that would take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one block tells and another does not: its memories' lines, and a unified diff."""

    against: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    text: str


def difference(before: str, after: str, *, against: str) -> Difference:
    """Compare two memory blocks; lines that only moved are in the text alone."""
    old, new = before.splitlines(), after.splitlines()
    added, removed = _bullets(_beyond(new, old)), _bullets(_beyond(old, new))
    return Difference(against=against, added=added, removed=removed, text=_text(old, new, against))


def block_in(injected: str) -> str:
    """Return the memory block of what was injected; nothing of the surroundings looks like it."""
    at = injected.find(f"\n{HEADER}")
    return injected[at + 1 :] if at >= 0 else ""


def _beyond(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the lines that are there more often than among the others."""
    left = Counter(others)
    found: list[str] = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            found.append(line)
    return found


def _bullets(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.startswith(BULLET))


def _text(old: Sequence[str], new: Sequence[str], against: str) -> str:
    if len(old) + len(new) > MOST_LINES:
        gone, come = _beyond(old, new), _beyond(new, old)
        lines = [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]
    else:
        name = against if against == "now" else f"session {against}"
        lines = list(unified_diff(old, new, name, "what if", lineterm=""))
    return "".join(f"{line}\n" for line in lines)
