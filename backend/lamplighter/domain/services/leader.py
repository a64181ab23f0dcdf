"""The supervisor that leads: at most one spawns sessions."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HEARTBEAT: Final = timedelta(seconds=5)
STALE: Final = timedelta(seconds=20)
HUNG: Final = 3 * HEARTBEAT
"""Without a heartbeat for so long a leader is replaced, within 18 s after it began to hang.

A standby reads the heartbeat once a second: that adds a second at either end, and what it takes to
end the leader's connections and to lead. A leader that hangs during a write takes no longer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Who holds the lease, and what it does next; pid 0 has let go of it."""

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
        """Say "running" (a session), "idle", or "away" when its heartbeat stopped."""
        if self.pid == 0 or now - self.heartbeat_at > STALE:
            return "away"
        return "idle" if self.session_id is None else "running"
