"""The leader: the one supervisor that starts sessions."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HEARTBEAT: Final = timedelta(seconds=5)
STALE: Final = timedelta(seconds=20)
HUNG: Final = 3 * HEARTBEAT
"""A leader without a heartbeat for this long is replaced, within 18 s after it began to hang.

A standby reads the heartbeat once a second: this adds a second at either end, plus the time to end
the leader's connections and to take over. A leader that hangs during a write takes no longer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The holder of the lease, and its next round; pid 0 means that the lease was released."""

    epoch: int
    pid: int
    engine: str
    interval_seconds: float
    dry_run: bool
    session_id: int | None
    heartbeat_at: datetime
    next_round_at: datetime | None
    version: int = 1

    def state(self, *, now: datetime) -> str:
        """Return "running" (a session), "idle", or "away" if its heartbeat stopped."""
        if self.pid == 0 or now - self.heartbeat_at > STALE:
            return "away"
        return "idle" if self.session_id is None else "running"
