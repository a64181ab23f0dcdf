"""How many memories there are of each kind: what the filters of a list offer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.repository.memory.as_of import parts
from lamplighter.repository.memory.memories import MemoryFilter, View, conditions, count
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Fetch, Statement
from lamplighter.repository.store.tables import memories

_MAX_CACHED: Final = 16


async def services(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> list[tuple[str | None, int]]:
    """Return how many memories each service has (with `at`: had), its own filter left out."""
    found = await _count_by(db, "service", replace(selection, service=None), at)
    return sorted(found.items(), key=lambda each: (each[0] is None, each[0]))


def count_active(names: Sequence[str]) -> Fetch[dict[str, int]]:
    """Return what counts the active memories of each of these services that has any."""
    return Fetch(
        [_active_of(tuple(names))()],
        lambda found: {row["service"]: row["count"] for rows in found for row in rows},
    )


@lru_cache(_MAX_CACHED)
def _active_of(names: Sequence[str]) -> Statement:
    return Statement(
        sa.select(memories.c.service, sa.func.count().label("count"))
        .where(memories.c.service.in_(names))
        .where(memories.c.active == 1)
        .group_by(memories.c.service),
        long=True,
    )


async def categories(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> list[tuple[str, int]]:
    """Return how many memories each category has (with `at`: had), its own filter left out."""
    return sorted((await _count_by(db, "category", replace(selection, category=None), at)).items())


async def projects(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> list[tuple[str, int]]:
    """Return how many memories each project has (with `at`: had), its own filter left out."""
    return sorted((await _count_by(db, "project", replace(selection, project=None), at)).items())


async def states(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> dict[str, int]:
    """Return how many are active, inactive and (not with `at`) in review, whichever is asked."""
    asked = {
        "active": replace(selection, active=True, in_review=False),
        "inactive": replace(selection, active=False, in_review=False),
    }
    if at is None:
        asked["review"] = replace(selection, active=None, in_review=True)
    return {name: await count(db, each, at=at) for name, each in asked.items()}


async def views(db: Database, selection: MemoryFilter) -> dict[str, int]:
    """Return how many each view has, its own filter left out."""
    return {view.value: await count(db, replace(selection, view=view)) for view in View}


async def _count_by(
    db: Database, name: str, selection: MemoryFilter, at: datetime | None
) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for rows in parts(at):
        column = rows.c[name]
        query = (
            sa.select(column, sa.func.count().label("count"))
            .where(*conditions(selection, rows.c))
            .group_by(column)
        )
        for row in await db.fetch_all(query):
            found[row[name]] += row["count"]
    return found
