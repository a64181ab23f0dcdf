"""What of a project an interactive session is told at its start, and how much of it there is."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.memory import Category, Kind, Memory, Trust
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import memories, sessions


async def procedural(db: Database, project: str, *, limit: int) -> list[Memory]:
    """Return how things are done: what was used most often first."""
    query = (
        _told(project)
        .where(memories.c.kind == Kind.PROCEDURAL)
        .order_by(memories.c.access_count.desc(), memories.c.updated_at.desc(), memories.c.id)
    )
    return [from_row(row) for row in await fetched(db, query, limit)]


async def of_project(db: Database, project: str, *, limit: int) -> list[Memory]:
    """Return what the project is like, newest first."""
    query = (
        _told(project)
        .where(memories.c.kind == Kind.PROJECT)
        .order_by(memories.c.updated_at.desc(), memories.c.id)
    )
    return [from_row(row) for row in await fetched(db, query, limit)]


async def decisions(db: Database, project: str, *, since: datetime, limit: int) -> list[Memory]:
    """Return what was decided since a moment, newest first."""
    query = (
        _told(project)
        .where(memories.c.category == Category.DECISION)
        .where(memories.c.updated_at >= since)
        .order_by(memories.c.updated_at.desc(), memories.c.id)
    )
    return [from_row(row) for row in await fetched(db, query, limit)]


async def counted(db: Database, project: str) -> dict[str, int]:
    """Count the active memories of a project, and those for every one, by kind."""
    query = (
        sa.select(memories.c.kind, sa.func.count().label("number"))
        .where(memories.c.active == 1)
        .where(_within(project))
        .group_by(memories.c.kind)
        .order_by(memories.c.kind)
    )
    return {row["kind"]: row["number"] for row in await db.fetch_all(query)}


async def sessions_of(db: Database, project: str) -> int:
    """Count the sessions of a project that have ended."""
    query = (
        sa.select(sa.func.count())
        .select_from(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.ended_at.is_not(None))
    )
    return int(await db.fetch_val(query))


def _told(project: str) -> Any:
    """Choose what may be told unasked: thought over, active, and somebody stands behind it."""
    return (
        sa.select(memories)
        .where(memories.c.active == 1)
        .where(memories.c.distilled == 1)
        .where(memories.c.trust != Trust.UNVERIFIED)
        .where(_within(project))
    )


def _within(project: str) -> Any:
    return (memories.c.project == project) | (memories.c.scope == "global")
