"""Sessions of interactive agents, which report events by hooks."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Source
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.domain.sessions.summary import replace_quote as replaced_quote
from lamplighter.domain.text import REDACTED
from lamplighter.repository.feed import indexing
from lamplighter.repository.sessions.sessions import ENTITY, session_rows
from lamplighter.repository.store.changes import blank_rows
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import client_prompts, memories, sessions

BEGINNING_CHARS: Final = 1_000


async def reopen(db: Database, session_id: int, *, now: datetime) -> Session:
    """Reopen an ended session that was resumed."""
    resumed = sessions.c.resumed + 1
    values = {"status": Status.RUNNING, "ended_at": None, "resumed": resumed}
    return await session_rows.change(db, session_id, values, now=now)


async def record_response(db: Database, session_id: int, text: str, *, now: datetime) -> Session:
    """Count a response of the agent, and store its text in place of the previous response."""
    turns = sa.func.coalesce(sessions.c.turns, 0) + 1
    return await session_rows.change(db, session_id, {"turns": turns, "response": text}, now=now)


async def summarize(
    db: Database, session_id: int, summary: str, *, messages: int, now: datetime
) -> Session:
    """Store the current summary of a session, and index the summary."""
    values = {"summary": summary, "messages": messages}
    session = await session_rows.change(db, session_id, values, now=now)
    await indexing.index_changed_session(db, session)
    return session


async def replace_quote(
    db: Database, session_id: int, text: str, by: str = REDACTED, *, now: datetime
) -> None:
    """Replace the quote of a message in a session's summary, also in the search index.

    The earlier summaries are blanked in the feed. Call it within `writing`.
    """
    session = await session_rows.get(db, session_id)
    words = replaced_quote(session.summary or "", text, by) if session else ""
    if session is not None and words != (session.summary or ""):
        await blank_rows(db, ENTITY, [session.id])
        await summarize(db, session.id, words, messages=session.messages or 0, now=now)


async def prompt_beginnings(db: Database, session_id: int) -> list[str]:
    """Return the beginnings of the prompts of a session, oldest first."""
    query = (
        sa.select(sa.func.substr(client_prompts.c.content, 1, BEGINNING_CHARS).label("words"))
        .where(client_prompts.c.session_id == session_id)
        .where(client_prompts.c.deleted_at.is_(None))
        .order_by(client_prompts.c.id)
    )
    return [row["words"] for row in await db.fetch_all(query)]


async def count_captured(db: Database, session_id: int) -> int:
    """Count the memories that rules captured in a session, from tools and from user prompts."""
    return await db.count_rows(
        memories,
        memories.c.session_id == session_id,
        memories.c.source.in_((Source.CAPTURED, Source.OWNER)),
    )


async def captured_texts(db: Database, session_id: int) -> list[str]:
    """Return the output of tools and pages that rules captured in a session."""
    query = (
        sa.select(memories.c.observation)
        .where(memories.c.session_id == session_id)
        .where(memories.c.source == Source.CAPTURED)
        .order_by(memories.c.id)
    )
    return [row["observation"] for row in await db.fetch_all(query)]


async def newest(
    db: Database, project: str, agent: str | None, *, token_id: int | None
) -> Session | None:
    """Return the newest open session in a project for an agent and a token; both may be None."""
    return await session_rows.last(
        db,
        sessions.c.project == project,
        sessions.c.agent.is_not_distinct_from(agent),
        sessions.c.token_id.is_not_distinct_from(token_id),
        sessions.c.trigger == Trigger.CLIENT,
        sessions.c.status == Status.RUNNING,
    )


async def set_summary(db: Database, session_id: int, summary: str, *, now: datetime) -> Session:
    """Store the summary that the client of a session wrote."""
    return await session_rows.change(db, session_id, {"summary": summary}, now=now)
