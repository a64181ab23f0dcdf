"""Counts of memories by facet, for the filters of a list."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import GENERAL
from lamplighter.repository.memory.as_of import Unindexed, parts
from lamplighter.repository.memory.listing import among, contains
from lamplighter.repository.memory.memories import (
    MemoryFilter,
    View,
    conditions,
    count,
    fading_condition,
    name_few,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import EachId, EachText, IdList, Json, OnSqlite
from lamplighter.repository.store.statements import Fetch, Statement
from lamplighter.repository.store.tables import memories, memory_views


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """The number of memories for each choice of a filter, ignoring that filter."""

    services: list[tuple[str | None, int]]
    categories: list[tuple[str, int]]
    projects: list[tuple[str, int]]
    states: dict[str, int]


async def facets(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> FacetCounts:
    """Return the number of memories by facet, now or as of `at`.

    The memories are read once, because searching their texts or rebuilding them is expensive.
    """
    selection = await name_few(db, selection, at=at)
    counts = _facets_of(await _count_combinations(db, selection, at), selection)
    if at is None:
        everyone = replace(selection, in_review=False)
        if selection.in_review:  # states are counted for all memories
            all_states = await _count_combinations(db, everyone, at)
            counts.states.update(_facets_of(all_states, everyone).states)
        review = replace(selection, active=None, in_review=True)
        counts.states["review"] = await count(db, review)
    return counts


_NAME: Final = EachText(sa.bindparam("names", type_=sa.Text)).table_valued("value", name="value")
_COUNT_ACTIVE: Final = Statement(
    sa.select(
        _NAME.c.value,
        sa.select(sa.func.count())
        .where(memories.c.service == _NAME.c.value)
        .where(memories.c.active == 1)
        .scalar_subquery(),
    ),
    long=True,
    tuples=True,
)
"""One count per name: SQLite takes half as long as with a GROUP BY."""


def count_active(names: Sequence[str]) -> Fetch[dict[str, int]]:
    """Build the fetch of the number of active memories of some services."""
    return Fetch([_COUNT_ACTIVE(names=Json.written(names))], lambda found: dict(found[0]))


async def views(db: Database, selection: MemoryFilter) -> dict[str, int]:
    """Return the number of memories in each view, ignoring the filter by view."""
    selection = await name_few(db, selection)
    free = replace(selection, view=None)
    query = _COUNT_VIEWS
    if not free.everything:  # look up each view in a list of the selected memories
        numbers = sa.select(memories.c.id).where(*conditions(free, memories.c))
        query = query.where(Unindexed(memory_views.c.memory_id).in_(numbers))
    grouped = _views_with_text(free) if free.q else query.group_by(memory_views.c.name)
    counts = {row["name"]: row["count"] for row in await db.fetch_all(grouped)}
    if not free.q:
        counts[View.FADING] = await count(db, replace(selection, view=View.FADING))
    return {view.value: counts.get(view, 0) for view in View}


_COUNT_VIEWS: Final = sa.select(memory_views.c.name, sa.func.count().label("count"))


def _views_with_text(free: MemoryFilter) -> sa.CompoundSelect[Any]:
    """Build the query that counts the views of memories with a text, reading them once for all.

    The shorter list is looked up: memories with the text or, for a common text, without it.
    """
    text, others = free.q or "", conditions(replace(free, q=None), memories.c)
    having = contains(text, memories.c, common=free.common)
    without = free.common and not others
    number = IdList(memories.c.id)
    read = sa.select(
        (number.filter(having.is_not(sa.true())) if without else number).label("ids"),
        sa.func.count().filter(having, fading_condition(free, memories.c)).label("fading"),
    )
    where = [Unindexed(each) for each in ([] if without else [*others, having])]
    matching = read.where(*where).cte("matching")
    each = EachId(matching.c.ids).table_valued("value", name="value")
    numbers = sa.select(each.c.value).select_from(matching, each)
    viewed = Unindexed(memory_views.c.memory_id)
    # PostgreSQL estimates ten IDs and would use an index; as a value, the test cannot use one
    chosen = viewed.not_in(numbers) if without else viewed.in_(numbers).is_(sa.true())
    listed = _COUNT_VIEWS.where(chosen)
    fading = sa.select(sa.literal(View.FADING.value), matching.c.fading)
    return sa.union_all(listed.group_by(memory_views.c.name), fading)


_CHOICES: Final = ("service", "category", "project", "active")


async def _count_combinations(
    db: Database, selection: MemoryFilter, at: datetime | None
) -> Counter[tuple[Any, ...]]:
    """Return the number of memories for each combination of choices, ignoring those filters."""
    free = replace(selection, service=None, category=None, project=None, active=None)
    where = partial(conditions, free)
    if at is None and free.q:
        where = partial(_counted, free)
    combinations: Counter[tuple[Any, ...]] = Counter()
    for rows in parts(at, reads=where, counts=True):
        columns = [rows.c[name] for name in _CHOICES]
        query = sa.select(*columns, sa.func.count().label("count")).where(*where(rows.c))
        for row in await db.fetch_all(query.group_by(*columns)):
            combinations[tuple(row[name] for name in _CHOICES)] += row["count"]
    return combinations


def _counted(selection: MemoryFilter, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for counting memories with a text by group.

    SQLite counts in the order of an index that has the groups, with IDs that no index answers.
    """
    text = selection.q or ""
    listed = among(Unindexed(columns.id), text, common=selection.common)
    found = OnSqlite(listed, contains(text, columns, common=selection.common))
    return [*conditions(replace(selection, q=None), columns), found]


def _facets_of(combinations: Counter[tuple[Any, ...]], selection: MemoryFilter) -> FacetCounts:
    service = None if selection.service == GENERAL else selection.service
    chosen = {
        "service": selection.service is None or {service},
        "category": selection.category is None or {selection.category},
        "project": selection.project is None or {selection.project},
        "active": selection.active is None or {selection.active},
    }
    counts = {name: _count_choice(combinations, name, chosen) for name in _CHOICES}
    active = counts.pop("active")
    states = {"active": active[True], "inactive": active[False]}
    services = sorted(counts["service"].items(), key=lambda each: (each[0] is None, each[0]))
    categories, projects = (sorted(counts[name].items()) for name in ("category", "project"))
    return FacetCounts(services, categories, projects, states)


def _count_choice(
    found: Counter[tuple[Any, ...]], name: str, chosen: Mapping[str, Any]
) -> Counter[Any]:
    """Count the choices of one filter under all other filters; True matches any value."""
    own: Counter[Any] = Counter()
    for values, number in found.items():
        row = dict(zip(_CHOICES, values, strict=True))
        others = (each for each in _CHOICES if each != name)
        if all(chosen[each] is True or row[each] in chosen[each] for each in others):
            own[row[name]] += number
    return own
