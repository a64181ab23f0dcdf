"""Keep what the built-in engine saw, found or measured: values beside its words."""

from datetime import datetime
from typing import Any

from lamplighter.domain import evidence
from lamplighter.domain.evidence import Measured
from lamplighter.domain.handoff import Finding
from lamplighter.domain.marks import Look
from lamplighter.repository import Database, checks, cooldowns, findings


async def keep(db: Database, session_id: int, found: dict[str, Any], *, now: datetime) -> None:
    """Keep the values of one result; what is none of ours is left alone."""
    seen = evidence.read(found)
    match seen:
        case Look():
            await checks.insert(db, session_id, seen, now=now)
        case Finding():
            await findings.insert(db, session_id, seen, now=now)
        case Measured(use_id, seconds):
            await cooldowns.measured(db, use_id, seconds, session_id=session_id, now=now)
