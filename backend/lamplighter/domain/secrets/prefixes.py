"""Prefixes for the scan: a short part of each pattern that every secret of its kind contains.

RE2 has a state for each combination of unfinished matches. Patterns with long or open parts have
millions of combinations, which fill its cache; their beginnings have a few thousand.
"""

import re
from typing import Final, NamedTuple

SELECTIVE: Final = 4
"""A prefix with this many literal characters is rare enough in ordinary text.

With many others after them, one fewer is enough.
"""

LONG_REPEAT: Final = 8

LONGEST_COUNT: Final = 8
WIDEST_RANGE: Final = 20

_PART: Final = re.compile(r"\\x[0-9a-f]{2}|\\.|\[(?:\\.|[^\]\\])+\]|.")
_COUNT: Final = re.compile(r"\{(\d+)(,?)(\d*)\}|[?*+]")
_LEAD: Final = re.compile(r"\\b(?:\[[^\]]+\](?:\{(?:\d+,)?\d+\})?)+")
_LEAD_PART: Final = re.compile(r"\](?:\{(?:\d+,)?(\d+)\})?")
_END: Final = re.compile(r"\)?(@)")
_GROUP: Final = re.compile(r"\(\?i?:(.*)\)", re.DOTALL)
_NOT_LITERAL: Final = ("[", ".", "^", ")", r"\b", r"\s", r"\S")


class Prefix(NamedTuple):
    """A pattern to search for, and the prefix of its secret: a pattern and its length."""

    pattern: str
    lead: str = ""
    lead_length: int = 0


def find_prefix(pattern: str) -> Prefix:
    """Return a prefix that matches wherever `pattern` matches, up to its first long part.

    Classes at the beginning are the lead: counting characters from each word on needs the most
    states.
    """
    match = _LEAD.match(pattern)
    if not match:
        return Prefix(_shorten_lead(pattern))
    length = sum(int(each[1] or 1) for each in _LEAD_PART.finditer(match[0]))
    if length < 3:
        return Prefix(_shorten_lead(pattern))
    return Prefix(_shorten_lead(pattern[match.end() :]), match[0], length)


def _shorten_lead(pattern: str) -> str:
    at = literals = 0
    group = ""
    while at < len(pattern):
        if pattern[at] == "(" and pattern[at + 1] != "?":
            if "|" in pattern[at:]:
                break
            group, at = ")", at + 1  # the group that captures the secret
            continue
        end = at + 1 if pattern[at] == ")" else _end_of_part(pattern, at)
        part, count = pattern[at:end], _COUNT.match(pattern, end)
        low = min(LONGEST_COUNT, _least(count)) if part[0] != "(" else 0
        if literals >= SELECTIVE - (low >= LONG_REPEAT) and _is_long(part, count):
            sign = _END.match(pattern, count.end()) if count and low else None
            if sign and sign[1] in part and part.startswith("[^"):
                # few texts with a port have the sign
                return f"{pattern[:at]}{part}+{sign[0]}{group * (sign[0] == sign[1])}"
            return pattern[:at] + (f"{part}{{{low}}}" if low else "") + group
        group = "" if part == ")" else group
        literals += _literals(part) if _least(count) else 0
        at = count.end() if count else end
    return pattern


def _end_of_part(pattern: str, at: int) -> int:
    """Return the end of a character, a class or a group without a secret."""
    depth = 0
    while True:
        part = _PART.match(pattern, at)
        assert part
        depth += (part[0] == "(") - (part[0] == ")")
        at = part.end()
        if not depth:
            return at


def _literals(part: str) -> int:
    group = _GROUP.fullmatch(part)
    if group:
        return min(map(len, group[1].split("|")))
    return not part.startswith(_NOT_LITERAL)


def _is_long(part: str, count: "re.Match[str] | None") -> bool:
    if part[0] == "(":
        return any(map(_is_wide, _COUNT.finditer(part)))
    return count is not None and _is_wide(count)


def _is_wide(count: "re.Match[str]") -> bool:
    if count[1] is None:
        return count[0] != "?"
    low, high = int(count[1]), int(count[3] or count[1])
    return low > LONGEST_COUNT or high - low > WIDEST_RANGE or bool(count[2] and not count[3])


def _least(count: "re.Match[str] | None") -> int:
    return 1 if not count else int(count[1] or count[0] == "+")
