"""Examples and look-alikes of secrets, generated from the patterns that declare their shapes."""

import random
import re._constants as codes
import re._parser as parser
import string
from dataclasses import dataclass
from typing import Any, Final

_POOL: Final = {*map(ord, string.ascii_letters + string.digits)}
_PRINTABLE: Final = set(range(33, 127))
_CATEGORIES: Final = {
    codes.CATEGORY_SPACE: {32},
    codes.CATEGORY_NOT_SPACE: _PRINTABLE,
    codes.CATEGORY_DIGIT: {*map(ord, string.digits)},
}
USUAL: Final = 12
"""The length of a generated part without a fixed length: longer than any word."""
SHORT: Final = 3
LONG_PART: Final = 8


@dataclass(frozen=True)
class Made:
    """A text of a shape, and its secret: the content of the group, or else the whole text."""

    text: str
    secret: str


@dataclass
class Maker:
    """A generator of texts of a shape; `short` texts lack most of each long part."""

    chance: random.Random
    short: bool = False
    group: str = ""

    def made(self, pattern: str) -> Made:
        self.group = ""
        text = self._all(parser.parse(pattern))
        return Made(text, self.group or text)

    def _all(self, tree: Any) -> str:
        return "".join(self._one(code, value) for code, value in tree)

    def _one(self, code: Any, value: Any) -> str:
        if code is codes.LITERAL:
            return chr(value)
        if code is codes.ANY:
            return " "
        if code is codes.IN:
            return chr(self.chance.choice(_characters(value)))
        if code is codes.BRANCH:
            return self._all(value[1][0])
        if code is codes.SUBPATTERN:
            made = self._all(value[3])
            self.group = made if value[0] else self.group
            return made
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return "".join(self._all(value[2]) for _ in range(self._count(*value[:2])))
        assert code is codes.AT, code
        return ""

    def _count(self, least: int, most: int) -> int:
        if self.short and least >= LONG_PART:
            return SHORT
        if least and most >= 60:
            return max(least, USUAL)
        return least


def _characters(items: Any) -> list[int]:
    found: set[int] = set()
    negated = False
    for code, value in items:
        negated = negated or code is codes.NEGATE
        if code is codes.LITERAL:
            found.add(value)
        elif code is codes.RANGE:
            found |= set(range(value[0], value[1] + 1))
        elif code is codes.CATEGORY:
            found |= _CATEGORIES[value]
    found = _PRINTABLE - found if negated else found
    return sorted(found & _POOL) or sorted(found)
