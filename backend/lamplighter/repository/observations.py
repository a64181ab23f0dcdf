"""Queries on knowledge as clients list it."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from lamplighter.domain.memory import Memory
from lamplighter.repository.columns import Json
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import KNOWLEDGE, memories


async def newest(
    db: Database,
    project: str | None,
    *,
    category: str | None = None,
    scope: str | None = None,
    tags: Sequence[str] = (),
    without: Sequence[str] = (),
    limit: int,
) -> list[Memory]:
    """Return the last active knowledge of a project and the global one of all, newest first.

    It has all of some `tags`, and none that begins as one of `without` does.
    """
    query = sa.select(memories).where(sa.text(KNOWLEDGE)).where(memories.c.active == 1)
    if project is not None:
        query = query.where((memories.c.project == project) | (memories.c.scope == "global"))
    if category is not None:
        query = query.where(memories.c.category == category)
    if scope is not None:
        query = query.where(memories.c.scope == scope)
    for tag in tags:
        query = query.where(_listed().contains(Json.written(tag), autoescape=True))
    for prefix in without:
        query = query.where(~_listed().contains(f'"{prefix}', autoescape=True))
    query = query.order_by(memories.c.id.desc())
    return [from_row(row) for row in await fetched(db, query, limit)]


def _listed() -> Any:
    return sa.type_coerce(memories.c.tags, sa.Text)


async def of_project(db: Database, project: str, *, limit: int) -> list[Memory]:
    """Return knowledge of a project, active or not, oldest first."""
    query = (
        sa.select(memories)
        .where(sa.text(KNOWLEDGE))
        .where(memories.c.project == project)
        .order_by(memories.c.id)
    )
    return [from_row(row) for row in await fetched(db, query, limit)]
