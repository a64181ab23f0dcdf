"""The project context of an interactive session at its start, and its counts."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.memory.knowledge import KnowledgeStats
from lamplighter.domain.memory.memory import Category, Memory, MemoryKind, Reach, Trust
from lamplighter.domain.sessions.session import Trigger
from lamplighter.repository.memory.knowledge import ACTIVE_KNOWLEDGE
from lamplighter.repository.memory.listing import lasts
from lamplighter.repository.store.database import Database, reading
from lamplighter.repository.store.statements import count_by
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
    reach = Reach(project).condition(memories.c)
    return await count_by(db, memories.c.kind, memories.c.active == 1, lasts(now), reach)


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
    own = (memories.c.active == 1) & (memories.c.project == project)
    return await _count_by(db, memories.c.category, own)


async def stats(db: Database) -> KnowledgeStats:
    """Count active knowledge by category and project, and client sessions."""
    async with reading(db):
        by_category = await _count_by(db, memories.c.category, sa.text(ACTIVE_KNOWLEDGE))
        by_project = await _count_by(db, memories.c.project, sa.text(ACTIVE_KNOWLEDGE))
        of_clients = sessions.c.trigger == Trigger.CLIENT
        opened = await _count_by(db, sessions.c.project, of_clients)
    return KnowledgeStats(
        sessions=sum(opened.values()),
        observations=sum(by_project.values()),
        by_category=by_category,
        by_project=by_project,
        projects=tuple(sorted({*by_project, *opened})),
    )


async def _count_by(db: Database, column: sa.Column[str], where: Any) -> dict[str, int]:
    """Return the number of rows by the value of a column, the highest first."""
    counts = await count_by(db, column, where)
    return dict(sorted(counts.items(), key=lambda each: -each[1]))
