"""How many memories there are of each kind: what the filters of a list offer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import GENERAL
from lamplighter.repository.memory.as_of import parts
from lamplighter.repository.memory.memories import MemoryFilter, View, conditions, count
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Fetch, Statement
from lamplighter.repository.store.tables import memories

_MAX_CACHED: Final = 16


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """How many memories each choice of a filter has, its own filter left out."""

    services: list[tuple[str | None, int]]
    categories: list[tuple[str, int]]
    projects: list[tuple[str, int]]
    states: dict[str, int]


async def facets(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> FacetCounts:
    """Return how many memories there are (with `at`: were) of each kind.

    Those of an earlier moment are read once: to rebuild them is the work.
    """
    if at is not None:
        return _facets_of(await _count_combinations(db, selection, at), selection)
    services = await _count_by(db, "service", replace(selection, service=None))
    categories = await _count_by(db, "category", replace(selection, category=None))
    projects = await _count_by(db, "project", replace(selection, project=None))
    return _sorted_facets(services, categories, projects, await _states(db, selection))


def _sorted_facets(
    services: Counter[str | None],
    categories: Counter[str],
    projects: Counter[str],
    states: dict[str, int],
) -> FacetCounts:
    by_name = sorted(services.items(), key=lambda each: (each[0] is None, each[0]))
    return FacetCounts(by_name, sorted(categories.items()), sorted(projects.items()), states)


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


async def _states(db: Database, selection: MemoryFilter) -> dict[str, int]:
    """Return how many are active, inactive and in review, whichever is asked."""
    asked = {
        "active": replace(selection, active=True, in_review=False),
        "inactive": replace(selection, active=False, in_review=False),
        "review": replace(selection, active=None, in_review=True),
    }
    return {name: await count(db, each) for name, each in asked.items()}


async def views(db: Database, selection: MemoryFilter) -> dict[str, int]:
    """Return how many each view has, its own filter left out."""
    return {view.value: await count(db, replace(selection, view=view)) for view in View}


async def _count_by(db: Database, name: str, selection: MemoryFilter) -> Counter[Any]:
    column = memories.c[name]
    query = (
        sa.select(column, sa.func.count().label("count"))
        .where(*conditions(selection, memories.c))
        .group_by(column)
    )
    return Counter({row[name]: row["count"] for row in await db.fetch_all(query)})


_CHOICES: Final = ("service", "category", "project", "active")


async def _count_combinations(
    db: Database, selection: MemoryFilter, at: datetime
) -> Counter[tuple[Any, ...]]:
    """Return how many memories had each combination of the choices, which are all left out."""
    free = replace(selection, service=None, category=None, project=None, active=None)
    found: Counter[tuple[Any, ...]] = Counter()
    for rows in parts(at, reads=conditions(free, memories.c), counts=True):
        columns = [rows.c[name] for name in _CHOICES]
        query = (
            sa.select(*columns, sa.func.count().label("count"))
            .where(*conditions(free, rows.c))
            .group_by(*columns)
        )
        for row in await db.fetch_all(query):
            found[tuple(row[name] for name in _CHOICES)] += row["count"]
    return found


def _facets_of(found: Counter[tuple[Any, ...]], selection: MemoryFilter) -> FacetCounts:
    service = None if selection.service == GENERAL else selection.service
    chosen = {
        "service": selection.service is None or {service},
        "category": selection.category is None or {selection.category},
        "project": selection.project is None or {selection.project},
        "active": selection.active is None or {selection.active},
    }
    counts = {name: _count_choice(found, name, chosen) for name in _CHOICES}
    active = counts.pop("active")
    states = {"active": active[True], "inactive": active[False]}
    return _sorted_facets(counts["service"], counts["category"], counts["project"], states)


def _count_choice(
    found: Counter[tuple[Any, ...]], name: str, chosen: Mapping[str, Any]
) -> Counter[Any]:
    """Count the choices of one filter under all the others; True is any value."""
    own: Counter[Any] = Counter()
    for values, number in found.items():
        row = dict(zip(_CHOICES, values, strict=True))
        others = (each for each in _CHOICES if each != name)
        if all(chosen[each] is True or row[each] in chosen[each] for each in others):
            own[row[name]] += number
    return own
