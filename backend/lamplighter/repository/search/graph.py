"""Queries on the connections between memories: links, services and topics."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Memory, Reach
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import links, memories
from lamplighter.repository.store.unreadable import fetch_memories


class Link(NamedTuple):
    """A link from a memory to another memory."""

    source: int
    what: str
    target: int


async def links_of(db: Database, ids: Sequence[int], *, limit: int) -> list[Link]:
    """Return the links of these memories, in either direction, newest first."""
    query = (
        sa.select(links)
        .where(links.c.memory_id.in_(list(ids)) | links.c.target_id.in_(list(ids)))
        .order_by(links.c.id.desc())
        .limit(limit)
    )
    rows = await db.fetch_all(query)
    return [Link(row["memory_id"], row["what"], row["target_id"]) for row in rows]


async def of_service(db: Database, project: str, service: str, *, limit: int) -> list[Memory]:
    """Return the active memories of a service that a project finds, newest first."""
    return await _newest(db, project, sa.func.lower(memories.c.service) == service.lower(), limit)


async def of_topic(db: Database, project: str, topic: str, *, limit: int) -> list[Memory]:
    """Return the active memories of a topic and of its subtopics, newest first."""
    below = memories.c.topic_key.startswith(f"{topic}/", autoescape=True)
    return await _newest(db, project, (memories.c.topic_key == topic) | below, limit)


async def of_session(db: Database, project: str, session_id: int, *, limit: int) -> list[Memory]:
    """Return the active memories of a session that a project finds, newest first."""
    mine = sa.func.coalesce(memories.c.session_id, 0) == session_id  # same expression as its index
    return await _newest(db, project, mine, limit)


async def count_by_service(
    db: Database, project: str, *, limit: int
) -> list[tuple[str | None, int]]:
    """Return the number of active memories of a project by service, the highest first."""
    count = sa.func.count().label("count")
    query = (
        sa.select(memories.c.service, count)
        .where(memories.c.active == 1)
        .where(memories.c.project == project)
        .group_by(memories.c.service)
        .order_by(count.desc(), memories.c.service)
        .limit(limit)
    )
    return [(row["service"], row["count"]) for row in await db.fetch_all(query)]


async def count_by_topic(db: Database, project: str, *, limit: int) -> list[tuple[str, int]]:
    """Return the number of active memories of a project by topic key, the newest first."""
    newest = sa.func.max(memories.c.updated_at)
    query = (
        sa.select(memories.c.topic_key, sa.func.count().label("count"))
        .where(memories.c.active == 1)
        .where(memories.c.project == project)
        .where(memories.c.topic_key.is_not(None))
        .group_by(memories.c.topic_key)
        .order_by(newest.desc(), memories.c.topic_key)
        .limit(limit)
    )
    return [(row["topic_key"], row["count"]) for row in await db.fetch_all(query)]


async def _newest(db: Database, project: str, conditions: Any, limit: int) -> list[Memory]:
    query = (
        sa.select(memories)
        .where(conditions)
        .where(memories.c.active == 1)
        .where(Reach(project).condition(memories.c))
        .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
    )
    return await fetch_memories(db, query, limit)
