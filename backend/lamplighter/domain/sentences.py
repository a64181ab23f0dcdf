"""Ends of sentences: not after initials (`A. Lovelace`) and abbreviations (`e.g.`)."""

import re
from typing import Final

_BEFORE: Final = 24
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\"'])(?:[Ee]\.g|[Ii]\.e|cf|vs|approx|resp|incl|Dr|Mrs?|Ms|Prof|St)\.$"
)
_INITIAL: Final = re.compile(
    r"(?:^|[\n(,.!?;:]\s*|\b(?:by|with|of|from|and|or|to|for|as|via|ask|asks|asked|told)\s+)"
    r"(?:[A-Z]\.\s?)*[A-Z]\.$",
    re.IGNORECASE,
)
_BEGINNING: Final = re.compile(
    r"(?:The|This|That|These|Those|It|Its|We|They|He|She|You|I|Our|Their|There|Then|Now|In|On|At"
    r"|If|When|After|Before|But|And|So|For|An?)\b"
)


def split_at(ends: re.Pattern[str], text: str) -> list[str]:
    """Return the parts of a text between `ends`, which match after the sign that ends a part."""
    parts, begin = [], 0
    for match in ends.finditer(text):
        if not _is_within_name(text, match.start(), match.end()):
            parts.append(text[begin : match.start()])
            begin = match.end()
    return [*parts, text[begin:]]


def _is_within_name(text: str, stop: int, begin: int) -> bool:
    """Return whether the period before `stop` belongs to an initial or an abbreviation."""
    before = text[max(0, stop - _BEFORE) : stop]
    if not before.endswith(".") or "\n" in text[stop:begin]:
        return False
    if _ABBREVIATION.search(before):
        return True
    initial = before[-2:-1].isupper() and _INITIAL.search(before)
    return bool(initial) and not _BEGINNING.match(text, begin)
