"""Fields of an untrusted payload, each one line of limited length."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter.domain.text import one_line

MAX_CHARS: Final = 300
READ_CHARS: Final = 4_000
"""More than is stored: a secret that begins within it is masked before the rest is cut off."""
MAX_DETAILS: Final = 20
MAX_KEY_CHARS: Final = 200
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_WORD: Final = re.compile(r"[a-z0-9_-]{1,20}", re.ASCII)
_TIER: Final = "tier"
FIRST_YEAR: Final = 1971
LAST_SECOND: Final = 32_503_680_000  # the year 3000


def text(value: Any) -> str:
    """Return a text or number as one line, not cut yet; empty for other types."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return one_line(str(value)[:READ_CHARS])


def first_text(found: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that is not empty."""
    return next((said for name in names if (said := text(found.get(name)))), "")


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one for other types."""
    return value if isinstance(value, Mapping) else {}


def names(found: Iterable[str]) -> tuple[str, ...]:
    """Return the candidate names of a service, without duplicates."""
    return tuple(dict.fromkeys(each for each in found if each))


def details(found: Mapping[str, Any], *, without: Iterable[str] = ()) -> dict[str, str]:
    """Return the other labels with valid names; a tier in them is ignored."""
    left_out = {*without, _TIER}
    entries: dict[str, str] = {}
    for name, value in found.items():
        named = _NOT_A_NAME.sub("_", str(name))[:40]
        said = text(value)
        if said and str(name).strip().lower() not in left_out and len(entries) < MAX_DETAILS:
            entries.setdefault(named, said)
    return entries


def join_key(*parts: str) -> str:
    """Return an identifier of limited length."""
    whole = "\x1f".join(parts)
    if len(whole) <= MAX_KEY_CHARS and "\x1f" not in whole:
        return whole
    return hash_name(whole)


def hash_name(name: str) -> str:
    """Return the hash of a name that is not stored itself."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def severity(value: Any) -> str:
    """Return the severity as a word; empty for other types."""
    word = text(value).lower()
    return word if _WORD.fullmatch(word) else ""


def tier(value: Any) -> int | None:
    """Return the requested tier."""
    said = text(value)
    return int(said) if said.isascii() and said.isdecimal() and len(said) == 1 else None


def moment(value: Any) -> datetime | None:
    """Return a moment, in UTC without a zone; None for an invalid one, or Go's zero time."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > LAST_SECOND else value
            read = datetime.fromtimestamp(seconds, UTC)
        else:
            read = datetime.fromisoformat(text(value))
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return read if FIRST_YEAR <= read.year < 3000 else None
