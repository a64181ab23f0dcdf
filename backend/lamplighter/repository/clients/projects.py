"""The project context of an interactive session at its start, and its counts."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.memory.knowledge import KnowledgeStats
from lamplighter.domain.memory.memory import Category, Memory, MemoryKind, Trust
from lamplighter.domain.memory.reach import Reach
from lamplighter.domain.sessions.session import Trigger
from lamplighter.repository.memory.knowledge import ACTIVE_KNOWLEDGE
from lamplighter.repository.memory.listing import lasts
from lamplighter.repository.store.database import Database, reading
from lamplighter.repository.store.tables import memories, sessions
from lamplighter.repository.store.unreadable import fetch_memories


async def procedural(db: Database, project: str, *, limit: int, now: datetime) -> list[Memory]:
    """Return the procedural memories of a project, the most often used first."""
    query = (
        _eligible(project, now)
        .where(memories.c.kind == MemoryKind.PROCEDURAL)
        .order_by(memories.c.access_count.desc(), memories.c.updated_at.desc(), memories.c.id)
    )
    return await fetch_memories(db, query, limit)


async def of_project(db: Database, project: str, *, limit: int, now: datetime) -> list[Memory]:
    """Return the memories of kind `project`, newest first."""
    query = (
        _eligible(project, now)
        .where(memories.c.kind == MemoryKind.PROJECT)
        .order_by(memories.c.updated_at.desc(), memories.c.id)
    )
    return await fetch_memories(db, query, limit)


async def decisions(
    db: Database, project: str, *, start: datetime, limit: int, now: datetime
) -> list[Memory]:
    """Return the decisions since `start`, newest first."""
    query = (
        _eligible(project, now)
        .where(memories.c.category == Category.DECISION)
        .where(memories.c.updated_at >= start)
        .order_by(memories.c.updated_at.desc(), memories.c.id)
    )
    return await fetch_memories(db, query, limit)


async def count_by_kind(db: Database, project: str, *, now: datetime) -> dict[str, int]:
    """Count the active memories of a project and the global memories, by kind."""
    query = (
        sa.select(memories.c.kind, sa.func.count().label("number"))
        .where(memories.c.active == 1)
        .where(lasts(now))
        .where(Reach(project).condition(memories.c))
        .group_by(memories.c.kind)
        .order_by(memories.c.kind)
    )
    return {row["kind"]: row["number"] for row in await db.fetch_all(query)}


async def count_ended_sessions(db: Database, project: str) -> int:
    """Count the sessions of a project that have ended."""
    return await db.count_rows(
        sessions, sessions.c.project == project, sessions.c.ended_at.is_not(None)
    )


def _eligible(project: str, now: datetime) -> Any:
    """Select memories for unprompted inclusion: distilled, active, not expired, trusted."""
    return (
        sa.select(memories)
        .where(memories.c.active == 1)
        .where(memories.c.distilled == 1)
        .where(memories.c.trust != Trust.UNVERIFIED)
        .where(lasts(now))
        .where(Reach(project).condition(memories.c))
    )


async def count_by_category(db: Database, project: str) -> dict[str, int]:
    """Return the number of active memories of a project by category, the highest first."""
    count = sa.func.count().label("count")
    query = (
        sa.select(memories.c.category, count)
        .where(memories.c.active == 1)
        .where(memories.c.project == project)
        .group_by(memories.c.category)
        .order_by(count.desc(), memories.c.category)
    )
    return {row["category"]: row["count"] for row in await db.fetch_all(query)}


async def stats(db: Database) -> KnowledgeStats:
    """Count active knowledge by category and project, and client sessions."""
    async with reading(db):
        by_category = await _count_by(db, memories.c.category, memories, sa.text(ACTIVE_KNOWLEDGE))
        by_project = await _count_by(db, memories.c.project, memories, sa.text(ACTIVE_KNOWLEDGE))
        of_clients = sessions.c.trigger == Trigger.CLIENT
        opened = await _count_by(db, sessions.c.project, sessions, of_clients)
    return KnowledgeStats(
        sessions=sum(opened.values()),
        observations=sum(by_project.values()),
        by_category=by_category,
        by_project=by_project,
        projects=tuple(sorted({*by_project, *opened})),
    )


async def _count_by(
    db: Database, column: sa.Column[str], table: sa.Table, where: Any
) -> dict[str, int]:
    count = sa.func.count().label("count")
    query = sa.select(column, count).select_from(table).where(where)
    rows = await db.fetch_all(query.group_by(column).order_by(count.desc(), column))
    return {row[column.name]: row["count"] for row in rows}
