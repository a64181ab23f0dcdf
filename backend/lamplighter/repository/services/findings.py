"""The findings of investigations, by session."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.sessions.handoff import Finding
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import findings, reader


async def insert(db: Database, session_id: int, finding: Finding, *, now: datetime) -> None:
    """Store a finding of a session about a service."""
    values = {**asdict(finding), "session_id": session_id, "at": now}
    await db.execute(sa.insert(findings).values(**values))


async def of_sessions(db: Database, session_ids: Sequence[int]) -> list[Finding]:
    """Return the findings of some sessions, oldest first."""
    query = (
        sa.select(findings)
        .where(findings.c.session_id.in_(list(session_ids)))
        .order_by(findings.c.id)
    )
    return [_finding(row) for row in await db.fetch_all(query)]


async def recent(db: Database, service: str, *, limit: int) -> list[Finding]:
    """Return the last findings about a service, newest first."""
    query = (
        sa.select(findings)
        .where(findings.c.service == service)
        .order_by(findings.c.id.desc())
        .limit(limit)
    )
    return [_finding(row) for row in await db.fetch_all(query)]


_finding: Final = reader(Finding)
