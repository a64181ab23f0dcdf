"""Sessions of interactive agents, which tell us by hooks what happens in them."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Source
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.sessions.summary import replace_quote as replaced_quote
from lamplighter.domain.text import REDACTED
from lamplighter.repository.feed import indexing
from lamplighter.repository.sessions.sessions import ENTITY, from_row, session_rows
from lamplighter.repository.store.changes import blank_row
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import client_prompts, memories, sessions

BEGINNING_CHARS: Final = 1_000


async def reopen(db: Database, session_id: int, *, now: datetime) -> Session:
    """Let a session that has ended run again: it was resumed."""
    resumed = sessions.c.resumed + 1
    values = {"status": Status.RUNNING, "ended_at": None, "resumed": resumed}
    return await _update(db, session_id, values, now=now)


async def record_response(db: Database, session_id: int, text: str, *, now: datetime) -> Session:
    """Count an answer of the agent and keep its words in the place of those before."""
    turns = sa.func.coalesce(sessions.c.turns, 0) + 1
    return await _update(db, session_id, {"turns": turns, "response": text}, now=now)


async def summarize(
    db: Database, session_id: int, summary: str, *, messages: int, now: datetime
) -> Session:
    """Keep a session's summary as it is now, so that it can be found."""
    values = {"summary": summary, "messages": messages}
    session = await _update(db, session_id, values, now=now)
    await indexing.index_changed_session(db, session)
    return session


async def replace_quote(
    db: Database, session_id: int, text: str, by: str = REDACTED, *, now: datetime
) -> None:
    """Let the summary of a session quote something else than a message, also for the search.

    The feed no longer has the summaries before. Call it within `writing`.
    """
    row = await db.fetch_one(sa.select(sessions).where(sessions.c.id == session_id))
    session = from_row(row) if row else None
    words = replaced_quote(session.summary or "", text, by) if session else ""
    if session is not None and words != (session.summary or ""):
        await blank_row(db, ENTITY, session.id)
        await summarize(db, session.id, words, messages=session.messages or 0, now=now)


async def prompt_beginnings(db: Database, session_id: int) -> list[str]:
    """Return how what a person asked in a session begins, oldest first."""
    query = (
        sa.select(sa.func.substr(client_prompts.c.content, 1, BEGINNING_CHARS).label("words"))
        .where(client_prompts.c.session_id == session_id)
        .where(client_prompts.c.deleted_at.is_(None))
        .order_by(client_prompts.c.id)
    )
    return [row["words"] for row in await db.fetch_all(query)]


async def count_captured(db: Database, session_id: int) -> int:
    """Count what rules caught of a session, from tools and from what its user typed."""
    query = (
        sa.select(sa.func.count())
        .select_from(memories)
        .where(memories.c.session_id == session_id)
        .where(memories.c.source.in_((Source.CAPTURED, Source.OWNER)))
    )
    return int(await db.fetch_val(query))


async def captured_texts(db: Database, session_id: int) -> list[str]:
    """Return what tools and pages printed in a session, as far as rules kept it."""
    query = (
        sa.select(memories.c.observation)
        .where(memories.c.session_id == session_id)
        .where(memories.c.source == Source.CAPTURED)
        .order_by(memories.c.id)
    )
    return [row["observation"] for row in await db.fetch_all(query)]


async def _update(
    db: Database, session_id: int, values: dict[str, Any], *, now: datetime
) -> Session:
    [session] = await session_rows.update(db, [sessions.c.id == session_id], values, now=now)
    return session


async def newest(
    db: Database, project: str, agent: str | None, *, token_id: int | None
) -> Session | None:
    """Return the newest session that a token of an agent, or of none, has open in a project."""
    query = (
        sa.select(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.agent.is_not_distinct_from(agent))
        .where(sessions.c.token_id.is_not_distinct_from(token_id))
        .where(sessions.c.trigger == Trigger.CLIENT)
        .where(sessions.c.status == Status.RUNNING)
        .order_by(sessions.c.id.desc())
        .limit(1)
    )
    row = await db.fetch_one(query)
    return None if row is None else from_row(row)


async def set_summary(db: Database, session_id: int, summary: str, *, now: datetime) -> Session:
    """Give a session the summary that its client wrote."""
    return await _update(db, session_id, {"summary": summary}, now=now)
