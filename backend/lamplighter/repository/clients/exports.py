"""The content of an export: memories and client sessions, ordered by ID."""

from collections.abc import AsyncIterator
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.sessions.session import Session, Trigger
from lamplighter.repository.memory.knowledge import ACTIVE_KNOWLEDGE
from lamplighter.repository.sessions.sessions import from_row as session_from
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import equal_to
from lamplighter.repository.store.tables import memories, sessions
from lamplighter.repository.store.unreadable import from_fields, readable

BATCH_SIZE: Final = 500


async def all_memories(
    db: Database, *, project: str | None = None, active: bool = False
) -> AsyncIterator[list[Memory]]:
    """Yield every memory in batches; with `active` only active knowledge.

    Unreadable rows are skipped.
    """
    query = sa.select(memories).where(*_chosen(project, active=active))
    query = query.order_by(memories.c.id).limit(BATCH_SIZE)
    async for rows in _pages(db, query, memories.c.id):
        yield [from_fields(row) for row in readable(rows)]


async def count(db: Database, *, project: str | None = None, active: bool = False) -> int:
    """Return the number of rows that `all_memories` reads."""
    return await db.count_rows(memories, *_chosen(project, active=active))


def _chosen(project: str | None, *, active: bool) -> list[Any]:
    knowledge = [sa.text(ACTIVE_KNOWLEDGE)] if active else []
    return [*equal_to(memories.c, project=project), *knowledge]


async def client_sessions(
    db: Database, *, project: str | None = None
) -> AsyncIterator[list[Session]]:
    """Yield every client session, in batches."""
    query = (
        sa.select(sessions)
        .where(sessions.c.trigger == Trigger.CLIENT)
        .where(sessions.c.external_id.is_not(None), *equal_to(sessions.c, project=project))
        .order_by(sessions.c.id)
        .limit(BATCH_SIZE)
    )
    async for rows in _pages(db, query, sessions.c.id):
        yield [session_from(row) for row in rows]


async def _pages(
    db: Database, query: sa.Select[Any], number: sa.Column[int]
) -> AsyncIterator[list[Any]]:
    last = 0
    while rows := list(await db.fetch_all(query.where(number > last))):
        last = rows[-1]["id"]
        yield rows
