"""Each look at a service: the evidence behind what a probe says."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.marks import Look
from lamplighter.repository.database import Database
from lamplighter.repository.tables import checks


async def insert(db: Database, session_id: int, look: Look, *, now: datetime) -> None:
    """Keep the result of a check."""
    statement = sa.insert(checks).values(
        session_id=session_id,
        service=look.service,
        name=look.name,
        kind=look.kind,
        ok=look.ok,
        status=look.status,
        latency_ms=look.latency_ms,
        attempts=look.attempts,
        flapped=look.flapped,
        detail=look.detail,
        at=now,
    )
    await db.execute(statement)


async def recent(db: Database, service: str, name: str, *, limit: int) -> list[Look]:
    """Return the last results of one check, newest first."""
    query = (
        sa.select(checks)
        .where(checks.c.service == service)
        .where(checks.c.name == name)
        .order_by(checks.c.id.desc())
        .limit(limit)
    )
    return [_look(row) for row in await db.fetch_all(query)]


async def latest(db: Database) -> list[Look]:
    """Return the last result of each check of each service."""
    newest = sa.select(sa.func.max(checks.c.id)).group_by(checks.c.service, checks.c.name)
    query = sa.select(checks).where(checks.c.id.in_(newest)).order_by(checks.c.id)
    return [_look(row) for row in await db.fetch_all(query)]


async def since(db: Database, service: str, *, ok: bool) -> datetime | None:
    """Return when a service was last in the other state than `ok`; None when never."""
    query = (
        sa.select(checks.c.at)
        .where(checks.c.service == service)
        .where(checks.c.ok != int(ok))
        .order_by(checks.c.id.desc())
        .limit(1)
    )
    found: datetime | None = await db.fetch_val(query)
    return found


def _look(row: Any) -> Look:
    return Look(**{name: row[name] for name in row if name not in ("id", "session_id")})
