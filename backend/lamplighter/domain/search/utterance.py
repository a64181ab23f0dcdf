"""Who says a text, and when, as the text itself begins: `[9 May 2026] Ada Lund: ...`."""

import re
from datetime import datetime
from typing import Final

from lamplighter.domain.search.period import STAMP, leading_date
from lamplighter.domain.search.terms import terms

_NAME: Final = r"[^\W\d][\w.-]{0,40}(?: [^\W\d][\w.-]{0,40}){0,2}"
_BRACKET: Final = r"[\[(][^\])\n]{1,60}[\])]"
_PLACE: Final = r"[^\s\[(]{0,20}[0-9][^\s:]{0,3}"
_SPEAKER: Final = re.compile(
    rf"[\s>*_-]{{0,8}}(?:{_BRACKET}\s*|{_PLACE}\s){{0,2}}(?:(?i:{STAMP})[\s,|\u2013\u2014-]{{0,4}})?"
    rf"[*_]{{0,2}}(?P<name>{_NAME})[*_]{{0,2}}(?: {_BRACKET})?"
    r"(?::[*_]{0,2}\s|,? (?:said|says|wrote|asked)\b)"
)
_LEAD: Final = 300
_CALLED: Final = re.compile(_NAME)


def find_speaker(text: str) -> str | None:
    """Return the speaker or subject that a text begins with.

    `Ada: ...`, `**Ada**: ...`, `Ada (12:30): ...`, `2026-05-09 12:30 - Ada: ...`, `Ada said ...`.
    """
    found = _SPEAKER.match(text[:_LEAD])
    return found["name"] if found else None


def utterance_speaker(row: object) -> str | None:
    """Return who says what a row holds: by its words, or by a name that is all of its title."""
    title = str(getattr(row, "title", "")).strip()
    within = getattr(row, "session_id", None) is not None
    if within and title.istitle() and _CALLED.fullmatch(title):
        return title
    return find_speaker(getattr(row, "observation", ""))


def utterance_date(row: object) -> datetime | None:
    """Return the day that the words of a row begin with; None where they begin with none."""
    given = (leading_date(getattr(row, name, "")) for name in ("observation", "title"))
    return next(filter(None, given), None)


def speaker_terms(name: str) -> list[str]:
    """Return the terms of a name; of several names the first is enough."""
    return terms(name.split()[0] if name.istitle() else name)
