"""How many memories there are of each kind: what the filters of a list offer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from lamplighter.repository.database import Database
from lamplighter.repository.memories import Filter, conditions
from lamplighter.repository.tables import memories


async def services(db: Database, wanted: Filter) -> list[tuple[str | None, int]]:
    """Return how many memories each service has, its own filter left out."""
    column = memories.c.service
    rows = await _counted(db, column, replace(wanted, service=None))
    return [(row["service"], row["count"]) for row in rows]


async def held_of(db: Database, names: Sequence[str]) -> dict[str, int]:
    """Return how many active memories each of these services has."""
    query = (
        sa.select(memories.c.service, sa.func.count().label("count"))
        .where(memories.c.service.in_(list(names)))
        .where(memories.c.active == 1)
        .group_by(memories.c.service)
    )
    return {row["service"]: row["count"] for row in await db.fetch_all(query)}


async def categories(db: Database, wanted: Filter) -> list[tuple[str, int]]:
    """Return how many memories each category has, its own filter left out."""
    rows = await _counted(db, memories.c.category, replace(wanted, category=None))
    return [(row["category"], row["count"]) for row in rows]


async def _counted(db: Database, column: Any, wanted: Filter) -> list[Any]:
    query = (
        sa.select(column, sa.func.count().label("count"))
        .where(*conditions(wanted))
        .group_by(column)
        .order_by(column.is_(None), column)
    )
    return list(await db.fetch_all(query))
