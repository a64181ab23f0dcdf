"""Schedule of checks: each at its own interval, spread over the minute, never twice at a time."""

import zlib
from typing import Final

INTERVAL_SECONDS: Final = 60.0
"""The default interval of a check; the check or the setting may override it."""

SPREAD_SECONDS: Final = 60.0
LATE_SECONDS: Final = 1.0
"""A check that begins this much after its time is late, which its result records."""


def first_delay(service: str, check: str, interval: float) -> float:
    """Return the delay in seconds before the first run of a check.

    The delay depends only on the names: checks are spread evenly, and a restart keeps their order.
    No check waits longer than a minute for its first result.
    """
    share = zlib.crc32(f"{service}/{check}".encode()) / 2**32
    return share * min(interval, SPREAD_SECONDS)


def next_due(due: float, interval: float, now: float) -> float:
    """Return the next time of a check, in seconds of a monotonic clock.

    Times in the past are skipped: a machine that was paused does not catch up.
    """
    missed = max(0, int((now - due) // interval))
    return due + (missed + 1) * interval


def late_ms(due: float, began: float) -> int:
    """Return the delay of a check in milliseconds; 0 if it was on time."""
    late = began - due
    return round(late * 1000) if late > LATE_SECONDS else 0
