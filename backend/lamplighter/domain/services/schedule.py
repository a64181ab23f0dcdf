"""When a check runs: on its own interval, spread over the minute, never twice at a time."""

import zlib
from typing import Final

INTERVAL_SECONDS: Final = 60.0
"""The interval of a check unless the check or the setting names another."""

SPREAD_SECONDS: Final = 60.0
LATE_SECONDS: Final = 1.0
"""A check that begins more than this after its time is late; its result says so."""


def first_delay(service: str, check: str, interval: float) -> float:
    """Return after how many seconds a check runs for the first time.

    The delay depends on the names only: checks are spread evenly, and a restart
    keeps their order. No check waits longer than a minute for its first result.
    """
    share = zlib.crc32(f"{service}/{check}".encode()) / 2**32
    return share * min(interval, SPREAD_SECONDS)


def next_due(due: float, interval: float, now: float) -> float:
    """Return the next time of a check, in seconds of one steady clock.

    Times that passed meanwhile are skipped: a machine that was paused does not catch up.
    """
    missed = max(0, int((now - due) // interval))
    return due + (missed + 1) * interval


def late_ms(due: float, began: float) -> int:
    """Return by how many milliseconds a check began late; 0 where it was in time."""
    late = began - due
    return round(late * 1000) if late > LATE_SECONDS else 0
