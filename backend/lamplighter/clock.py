"""The wall clock; everything below takes `now` as an argument."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)
