"""Sessions of interactive agents, which tell us by hooks what happens in them."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import Op
from lamplighter.domain.memory import Source
from lamplighter.domain.session import Session, Status
from lamplighter.repository import indexing
from lamplighter.repository.database import Database
from lamplighter.repository.sessions import from_row, tell
from lamplighter.repository.tables import client_prompts, memories, sessions

BEGINNING_CHARS: Final = 1_000


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


async def summarize(
    db: Database, session_id: int, summary: str, *, messages: int, now: datetime
) -> Session:
    """Keep a session's summary as it is now, so that it can be found."""
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(summary=summary, messages=messages, version=sessions.c.version + 1)
        .returning(sessions)
    )
    session = await _told(db, statement, now=now)
    await indexing.summarized(db, session)
    return session


async def asked(db: Database, session_id: int) -> list[str]:
    """Return how what a person asked in a session begins, oldest first."""
    query = (
        sa.select(sa.func.substr(client_prompts.c.content, 1, BEGINNING_CHARS).label("words"))
        .where(client_prompts.c.session_id == session_id)
        .where(client_prompts.c.deleted_at.is_(None))
        .order_by(client_prompts.c.id)
    )
    return [row["words"] for row in await db.fetch_all(query)]


async def caught(db: Database, session_id: int) -> int:
    """Count what rules caught of a session."""
    query = (
        sa.select(sa.func.count())
        .select_from(memories)
        .where(memories.c.session_id == session_id)
        .where(memories.c.source == Source.CAPTURED)
    )
    return int(await db.fetch_val(query))


async def _told(db: Database, statement: Any, *, now: datetime) -> Session:
    session = from_row(await db.fetch_one(statement))
    await tell(db, session, Op.UPDATED, now=now)
    return session
