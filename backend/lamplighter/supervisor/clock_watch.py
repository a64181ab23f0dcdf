"""Whether the time of day was set recently, measured by a monotonic clock.

A wrong clock must not cost memories their confidence. Fading cannot be undone: memories do not fade
for a day after the time was set by more than some minutes.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

logger = logging.getLogger(__name__)

JUMP: Final = timedelta(minutes=10)
JUMP_RETENTION: Final = timedelta(days=1)


def since_boot() -> float:
    """Return seconds that include the sleep of the machine, if the system counts it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(slots=True)
class ClockWatch:
    """Compares the time of day with the time that has passed."""

    elapsed: Callable[[], float] = since_boot
    _last: tuple[datetime, float] | None = None
    _set_at: float | None = None

    def steady(self, now: datetime) -> bool:
        """Check the time of day; return whether it was not set for a day."""
        at = self.elapsed()
        seen, seen_at = self._last or (now, at)
        by = (now - seen) - timedelta(seconds=at - seen_at)
        self._last = now, at
        if abs(by) > JUMP:
            logger.warning("The clock changed by %s; memories do not fade for a day.", by)
            self._set_at = at
        return self._set_at is None or at - self._set_at >= JUMP_RETENTION.total_seconds()
