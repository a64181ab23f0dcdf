"""What a project learned last, where nothing better is known to tell it."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory import Category, Memory
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import KNOWLEDGE, memories

GLOBAL: Final = "global"
TOLD: Final = f"active = 1 AND {KNOWLEDGE}"
"""In the words of the indexes, so that both databases take them."""


async def newest(
    db: Database, project: str, *, without: Sequence[int] = (), limit: int
) -> list[Memory]:
    """Return the active knowledge of a project, and the global one of all, newest first."""
    others = memories.c.id.not_in(list(without))
    own = memories.c.project == project
    wide = memories.c.scope == GLOBAL
    found = [
        *await _newest(db, [own, others], limit),
        *await _newest(db, [wide, memories.c.project != project, others], limit),
    ]
    return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)[:limit]


async def recent(
    db: Database,
    *,
    project: str | None = None,
    category: Category | None = None,
    scope: str | None = None,
    limit: int,
) -> list[Memory]:
    """Return the active knowledge that is asked for, newest first; None asks for all."""
    asked = {"project": project, "category": category, "scope": scope}
    wanted = [memories.c[name] == value for name, value in asked.items() if value is not None]
    return await _newest(db, wanted, limit)


async def _newest(
    db: Database, wanted: Sequence[sa.ColumnElement[bool]], limit: int
) -> list[Memory]:
    if limit < 1:
        return []
    query: sa.Select[Any] = (
        sa.select(memories)
        .where(sa.text(TOLD))
        .where(*wanted)
        .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
    )
    return [from_row(row) for row in await fetched(db, query, limit)]
