"""Moments as somebody writes them."""

import re
from datetime import UTC, datetime
from typing import Final

from lamplighter.domain.errors import Invalid, Wrong

_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,12})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def moment(given: str | None, name: str) -> datetime | None:
    """Read a moment; Invalid names the field when it is not written as RFC 3339 does."""
    if given is None:
        return None
    try:
        if _RFC_3339.fullmatch(given) is None:
            raise ValueError
        return datetime.fromisoformat(given.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(Wrong(name, "is not a time such as 2026-01-01T12:00:00Z")) from error


def past(given: str | None, name: str, *, now: datetime) -> datetime | None:
    """Read a moment that is not in the future; else Invalid."""
    found = moment(given, name)
    if found is not None and found > now:
        raise Invalid(Wrong(name, "is in the future"))
    return found
