"""Stored results of the built-in engine: checks, findings and recovery times."""

from datetime import datetime
from typing import Any

from lamplighter.domain.actions import evidence
from lamplighter.domain.actions.evidence import RecoveryTime
from lamplighter.domain.sessions.handoff import Finding
from lamplighter.domain.sessions.marker_results import CheckResult
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns, findings


async def keep(db: Database, session_id: int, found: dict[str, Any], *, now: datetime) -> None:
    """Store the values of one result; ignore results of any other form."""
    seen = evidence.parse_evidence(found)
    match seen:
        case CheckResult():
            await checks.insert(db, session_id, seen, now=now)
        case Finding():
            await findings.insert(db, session_id, seen, now=now)
        case RecoveryTime(use_id, seconds):
            await cooldowns.record_recovery(db, use_id, seconds, session_id=session_id, now=now)
