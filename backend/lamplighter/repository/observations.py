"""Queries on knowledge as clients list it."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory import Memory
from lamplighter.repository.columns import Json
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.recency import GLOBAL
from lamplighter.repository.tables import KNOWLEDGE, memories

TOLD: Final = f"+active = 1 AND {KNOWLEDGE}"
"""Most memories are active: the sign keeps SQLite from an index that finds them by that."""


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
    query = sa.select(memories).where(sa.text(TOLD))
    if category is not None:
        query = query.where(memories.c.category == category)
    if scope is not None:
        query = query.where(memories.c.scope == scope)
    for tag in tags:
        query = query.where(_listed().contains(Json.written(tag), autoescape=True))
    for prefix in without:
        query = query.where(~_listed().contains(f'"{prefix}', autoescape=True))
    query = query.order_by(memories.c.id.desc())
    found = [
        from_row(row)
        for places in _places(project)
        for row in await fetched(db, query.where(*places), limit)
    ]
    return sorted(found, key=lambda each: each.id, reverse=True)[:limit]


def _places(project: str | None) -> list[list[sa.ColumnElement[bool]]]:
    """Return where to look, each by an index of its own: in a project, and in the global."""
    if project is None:
        return [[]]
    own = memories.c.project == project
    return [[own], [memories.c.scope == GLOBAL, memories.c.project != project]]


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
