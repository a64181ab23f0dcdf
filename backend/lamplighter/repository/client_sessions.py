"""Queries on the sessions of clients, which are known by their own names."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.change import Op
from lamplighter.domain.session import Session, Status, Trigger
from lamplighter.repository import indexing
from lamplighter.repository.database import Database
from lamplighter.repository.sessions import from_row, tell
from lamplighter.repository.tables import sessions

ENGINE: Final = "client"


async def of(db: Database, external_id: str) -> Session | None:
    """Return the session that a client calls so: the newest of them."""
    query = (
        sa.select(sessions)
        .where(sessions.c.external_id == external_id)
        .where(sessions.c.trigger == Trigger.CLIENT)
        .order_by(sessions.c.id.desc())
        .limit(1)
    )
    row = await db.fetch_one(query)
    return None if row is None else from_row(row)


async def insert(
    db: Database,
    external_id: str,
    *,
    project: str,
    agent: str | None,
    directory: str | None,
    now: datetime,
) -> Session:
    """Open a client's session."""
    statement = (
        sa.insert(sessions)
        .values(
            external_id=external_id,
            project=project,
            agent=agent,
            directory=directory,
            tier=0,
            engine=ENGINE,
            trigger=Trigger.CLIENT,
            status=Status.RUNNING,
            started_at=now,
        )
        .returning(sessions)
    )
    session = from_row(await db.fetch_one(statement))
    await tell(db, session, Op.CREATED, now=now)
    return session


async def summarize(db: Database, session_id: int, summary: str, *, now: datetime) -> Session:
    """Give a session that has ended its summary."""
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(summary=summary, version=sessions.c.version + 1)
        .returning(sessions)
    )
    session = from_row(await db.fetch_one(statement))
    await indexing.summarized(db, session)
    await tell(db, session, Op.UPDATED, now=now)
    return session


async def recent(db: Database, project: str, *, limit: int) -> list[Session]:
    """Return the last sessions of a project that have a summary, newest first."""
    query = (
        sa.select(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.trigger == Trigger.CLIENT)
        .where(sessions.c.summary != "")
        .order_by(sessions.c.id.desc())
        .limit(limit)
    )
    return [from_row(row) for row in await db.fetch_all(query)]
