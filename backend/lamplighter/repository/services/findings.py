"""The findings of investigations, by session."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.sessions.handoff import Finding
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows
from lamplighter.repository.store.tables import findings, reader


async def insert(db: Database, session_id: int, finding: Finding, *, now: datetime) -> None:
    """Store a finding of a session about a service."""
    values = {**asdict(finding), "session_id": session_id, "at": now}
    await db.execute(sa.insert(findings).values(**values))


async def of_sessions(db: Database, session_ids: Sequence[int]) -> list[Finding]:
    """Return the findings of some sessions, oldest first."""
    return await _rows.oldest(db, findings.c.session_id.in_(list(session_ids)))


async def recent(db: Database, service: str, *, limit: int) -> list[Finding]:
    """Return the last findings about a service, newest first."""
    return await _rows.newest(db, findings.c.service == service, limit=limit)


_rows: Final = Rows(findings, reader(Finding))
