"""What somebody may have meant by a word we do not know."""

from collections.abc import Iterable
from typing import Final

FARTHEST: Final = 2


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the known word nearest to this one, at most two letters away; None when none is."""
    close = (other for other in words if abs(len(word) - len(other)) <= FARTHEST)
    near = [(away, other) for other in close if (away := edits(word, other)) <= FARTHEST]
    away, other = min(near, default=(0, ""))
    return other if away < len(word) and other else None


def edits(left: str, right: str) -> int:
    """Count the letters to change, add or leave out; two that are swapped count as one."""
    two, one, row = [0], [0], list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        two, one, row = one, row, [i]
        for j, other in enumerate(right, 1):
            row.append(min(one[j] + 1, row[-1] + 1, one[j - 1] + (char != other)))
            if i > 1 and j > 1 and char == right[j - 2] and other == left[i - 2]:
                row[j] = min(row[j], two[j - 2] + 1)
    return row[-1]
