"""Sessions of interactive agents, which tell us by hooks what happens in them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.change import Op
from lamplighter.domain.memory import Source
from lamplighter.domain.session import Session, Status, Trigger
from lamplighter.repository.database import Database
from lamplighter.repository.sessions import from_row, tell
from lamplighter.repository.tables import memories, retellings, sessions


async def reopen(db: Database, session_id: int, *, now: datetime) -> Session:
    """Let a session that has ended run again: it was resumed."""
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(
            status=Status.RUNNING,
            ended_at=None,
            resumed=sessions.c.resumed + 1,
            version=sessions.c.version + 1,
        )
        .returning(sessions)
    )
    return await _told(db, statement, now=now)


async def answered(db: Database, session_id: int, words: str, *, now: datetime) -> Session:
    """Count an answer of the agent and keep its words in the place of those before."""
    turns = sa.func.coalesce(sessions.c.turns, 0) + 1
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(turns=turns, response=words, version=sessions.c.version + 1)
        .returning(sessions)
    )
    return await _told(db, statement, now=now)


async def summarize(db: Database, session_id: int, summary: str, *, now: datetime) -> Session:
    """Keep a session's summary as it is now."""
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(summary=summary, version=sessions.c.version + 1)
        .returning(sessions)
    )
    return await _told(db, statement, now=now)


async def asked(db: Database, session_id: int) -> list[str]:
    """Return what a person asked in a session, oldest first."""
    query = (
        sa.select(retellings.c.query)
        .where(retellings.c.session_id == session_id)
        .where(retellings.c.query != "")
        .order_by(retellings.c.id)
    )
    return [row["query"] for row in await db.fetch_all(query)]


async def caught(db: Database, session_id: int) -> int:
    """Count what rules caught of a session."""
    query = (
        sa.select(sa.func.count())
        .select_from(memories)
        .where(memories.c.session_id == session_id)
        .where(memories.c.source == Source.CAPTURED)
    )
    return int(await db.fetch_val(query))


async def forsaken(db: Database, project: str, *, before: datetime, limit: int) -> list[Session]:
    """Return the sessions of a project that run on paper and have said nothing for long."""
    last = (
        sa.select(sa.func.max(retellings.c.at))
        .where(retellings.c.session_id == sessions.c.id)
        .scalar_subquery()
    )
    query = (
        sa.select(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.trigger == Trigger.CLIENT)
        .where(sessions.c.status == Status.RUNNING)
        .where(sessions.c.directory.is_not(None))
        .where(sa.func.coalesce(last, sessions.c.started_at) < before)
        .order_by(sessions.c.id)
        .limit(limit)
    )
    return [from_row(row) for row in await db.fetch_all(query)]


async def _told(db: Database, statement: Any, *, now: datetime) -> Session:
    session = from_row(await db.fetch_one(statement))
    await tell(db, session, Op.UPDATED, now=now)
    return session
