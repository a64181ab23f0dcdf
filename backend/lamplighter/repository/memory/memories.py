"""Queries on memories, one function each."""

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, lru_cache, partial, reduce
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    GENERAL,
    GRACE_PERIOD,
    MEMORY_FIELDS,
    OPERATIONAL,
    WEEK,
    WEEKLY_DECAY,
    Candidate,
    Category,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    Trust,
    new_memory,
)
from lamplighter.domain.services.service import is_same_service, normalize_service_name
from lamplighter.domain.text import content_hash
from lamplighter.formats import serialize
from lamplighter.repository.memory import listing
from lamplighter.repository.memory.as_of import Unindexed, parts
from lamplighter.repository.memory.listing import Order as Order
from lamplighter.repository.memory.listing import Sort as Sort
from lamplighter.repository.memory.listing import contains, in_list
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import (
    NUMBER,
    InIdList,
    InTextList,
    Json,
    Seconds,
    distinct_values,
    stamp,
)
from lamplighter.repository.store.statements import (
    Page,
    Statement,
    equal_to,
    prepare_insert,
    publisher,
)
from lamplighter.repository.store.tables import KNOWLEDGE, memories, memory_views
from lamplighter.repository.store.unreadable import from_fields, readable
from lamplighter.repository.store.unreadable import from_row as from_row

_CENTS: Final = 100
USUAL_WEEKS: Final = 20
MAX_FEW: Final = 2_000
"""The maximum to find by length or service; of more, rows are read in prompt order."""

_NOBODY: Final[sa.ColumnElement[int]] = sa.literal_column("0")  # literal, as in the source index


class View(StrEnum):
    """A saved question about memories."""

    FADING = "fading"
    UNUSED = "unused"
    SINGLE = "single"
    EDITED = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Filter for memories; None matches all. `service` "general" means NULL.

    `by` is the time until which the memories of the view `fading` become inactive. `finds` is a
    project that finds only its own and global memories, without deleted ones. `common` is whether
    most memories have `q`.
    """

    q: str | None = None
    service: str | None = None
    category: Category | None = None
    kind: MemoryKind | None = None
    operational: bool | None = None
    project: str | None = None
    scope: str | None = None
    session_id: int | None = None
    active: bool | None = None
    in_review: bool = False
    view: View | None = None
    by: datetime | None = None
    ids: tuple[int, ...] = ()
    finds: str | None = None
    common: bool = False

    @property
    def everything(self) -> bool:
        """Whether the filter matches every memory."""
        return replace(self, q=self.q or None, by=None) == MemoryFilter()


def conditions(selection: MemoryFilter, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a filter."""
    clauses: list[sa.ColumnElement[bool]] = []
    if selection.service is not None:
        service = None if selection.service == GENERAL else selection.service
        clauses.append(columns.service.is_not_distinct_from(service))
    if selection.active is not None:
        clauses.append(columns.active == int(selection.active))
    same = ("category", "kind", "project", "scope")
    clauses += equal_to(columns, **{name: getattr(selection, name) for name in same})
    if selection.session_id is not None:
        clauses.append(sa.func.coalesce(columns.session_id, _NOBODY) == selection.session_id)
    if selection.in_review:
        clauses.append(_in_review(columns))
    if selection.ids:
        clauses.append(in_list(columns.id, selection.ids))
    if selection.view is not None:
        clauses.append(_VIEWS[selection.view](selection, columns))
    clauses += _in_section(selection.operational, columns) + visible_to(selection.finds, columns)
    if selection.q:  # last: the slowest condition
        clauses.append(contains(selection.q, columns, selection.ids, common=selection.common))
    return clauses


async def name_few(
    db: Database, selection: MemoryFilter, *, at: datetime | None = None
) -> MemoryFilter:
    """Return a filter by text with the IDs of its memories, if these are few."""
    if not selection.q or selection.ids:
        return selection
    found = await listing.match_text(db, selection.q, at)
    q = None if found.ids and at is None else selection.q
    return replace(selection, ids=found.ids, common=found.common, q=q)


def _in_section(operational: bool | None, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return the condition for operational memories, or for knowledge."""
    if operational is None:
        return []
    chosen = columns.category.in_(OPERATIONAL)
    return [chosen if operational else ~chosen]


def visible_to(project: str | None, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for memories that a project finds (`usecases.access.project_wall`)."""
    if project is None:
        return []
    from lamplighter.domain.memory.memory import Reach

    kept = columns.inactive_reason.is_distinct_from(InactiveReason.DELETED.value)
    return [Reach(project).condition(columns), kept]


def _in_review(columns: Any) -> sa.ColumnElement[bool]:
    """Return a condition for memories in an open review, on either side."""
    from lamplighter.repository.store.tables import reviews

    both = (reviews.c.old_id, reviews.c.new_id)
    sides = (sa.select(side).where(reviews.c.state == "open") for side in both)
    return columns.id.in_(sa.union_all(*sides))  # type: ignore[no-any-return]


def unverified_semantic(columns: Any) -> sa.ColumnElement[bool]:
    """Return the condition for semantic memories that are not verified."""
    kind, trust = MemoryKind.SEMANTIC.value, Trust.UNVERIFIED.value
    return (columns.kind == kind) & (columns.trust == trust)  # type: ignore[no-any-return]


def fading_condition(selection: MemoryFilter, columns: Any) -> sa.ColumnElement[bool]:
    """Return the condition for memories that fall inactive (`domain.decay.falls_inactive`)."""
    cents = sa.cast(sa.func.round(columns.confidence * _CENTS), NUMBER)
    spare = (cents - round(ACTIVE_THRESHOLD * _CENTS)) // round(WEEKLY_DECAY * _CENTS)
    weeks = columns.decayed_weeks + spare + 1
    updated = sa.type_coerce(columns.updated_at, sa.Text)
    graced = (selection.by or datetime.fromtimestamp(0, UTC)) - GRACE_PERIOD
    latest = graced.replace(microsecond=0) + timedelta(seconds=1)  # compared by whole seconds
    # comparing texts is faster than computing seconds; more weeks are rarely left
    usual = {n: updated < stamp(latest - WEEK * n) for n in range(1, USUAL_WEEKS)}
    others = Seconds(updated) + weeks * int(WEEK.total_seconds()) <= int(graced.timestamp())
    return sa.and_(
        columns.active == 1,
        updated <= stamp(latest - WEEK),
        columns.pinned == 0,
        columns.category.in_(OPERATIONAL) | unverified_semantic(columns),
        # weeks are computed once: most rows match one of the usual numbers
        sa.case(usual, value=weeks, else_=sa.case((weeks >= USUAL_WEEKS, others))),
    )


def _listed(view: View) -> Callable[[MemoryFilter, Any], sa.ColumnElement[bool]]:
    """Return a condition for the memories that triggers list in a view."""
    numbers = sa.select(memory_views.c.memory_id).where(
        memory_views.c.name == sa.literal_column(f"'{view.value}'")
    )

    def condition(selection: MemoryFilter, columns: Any) -> sa.ColumnElement[bool]:
        found: sa.ColumnElement[bool] = columns.id.in_(numbers)
        return found

    return condition


_LISTED: Final = (View.UNUSED, View.SINGLE, View.EDITED)
_VIEWS: Final[dict[View, Callable[[MemoryFilter, Any], sa.ColumnElement[bool]]]] = {
    View.FADING: fading_condition,
    **{view: _listed(view) for view in _LISTED},
}


ENTITY: Final = "memory"

STORED: Final = tuple(name for name in MEMORY_FIELDS if name != "id")
_UPDATED: Final = tuple(name for name, each in MEMORY_FIELDS.items() if not each.declared.constant)
_INSERT: Final = prepare_insert(memories, *STORED, returning=memories.c.id)
_UPDATE: Final = Statement(
    sa.update(memories).where(memories.c.id == sa.bindparam("number", type_=NUMBER)),
    tuple(dict.fromkeys((*_UPDATED, "tags", "content_hash"))),
)
_BY_IDS: Final = Statement(
    sa.select(memories)
    .where(InIdList(memories.c.id, sa.bindparam("ids", type_=sa.Text)))
    .order_by(memories.c.id),
    long=True,
)
_COUNT: Final = sa.select(sa.func.count()).select_from(memories)
_COUNT_LISTED: Final = Statement(
    sa.select(sa.func.count())
    .select_from(memory_views)
    .where(memory_views.c.name == sa.bindparam("view"))
)
_NOT_ELIGIBLE: Final = (
    (memories.c.active < 1,),
    (memories.c.active > 1,),
    (memories.c.active == 1, memories.c.confidence < ACTIVE_THRESHOLD),
    # literal, as in its index: SQLite would otherwise choose an index that contains all rows
    (
        sa.text(KNOWLEDGE),
        sa.func.coalesce(memories.c.active, 0) == 1,
        memories.c.confidence + 0.0 >= ACTIVE_THRESHOLD,
    ),
)
_COUNT_ELIGIBLE: Final = Statement(
    sa.select(
        reduce(
            operator.sub,
            (_COUNT.where(*each).scalar_subquery() for each in ((), *_NOT_ELIGIBLE)),
        )
    ),
    long=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFilter:
    """Filter for memories eligible for prompts, now or as of `at`.

    `services` None means all, else these services (`inside`) or all others. `longest` is the
    maximum length of an observation in characters, `without` excludes memories.
    """

    services: Sequence[str] | None = None
    inside: bool = True
    longest: int | None = None
    without: tuple[int, ...] = ()
    at: datetime | None = None

    def holds(self, service: str | None) -> bool:
        """Whether the filter includes the memories of a service."""
        return self.services is None or (service in self.services) is self.inside


async def get(db: Database, memory_id: int, *, at: datetime | None = None) -> Memory | None:
    """Return one memory, now or as of `at`; the functions below do the same."""
    for rows in parts(at, only=[memory_id]):
        row = await db.fetch_one(sa.select(rows).where(rows.c.id == memory_id))
        if row is not None:
            return from_row(row) if at is None else _with_content_hash(row)
    return None


async def existing_ids(
    db: Database, ids: Sequence[int], *, at: datetime | None = None
) -> set[MemoryId]:
    """Return the IDs of those of these memories that exist."""
    found: set[MemoryId] = set()
    for rows in parts(at, only=ids) if ids else ():
        query = sa.select(rows.c.id).where(rows.c.id.in_(ids))
        found |= {MemoryId(row["id"]) for row in await db.fetch_all(query)}
    return found


async def by_ids(db: Database, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
    """Return those of some memories that exist, by ID."""
    return {memory.id: memory for memory in await list_by_ids(db, ids)} if ids else {}


async def list_by_ids(db: Database, ids: Sequence[int]) -> list[Memory]:
    """Return those of some memories that exist, ordered by ID."""
    rows = await db.fetch_all(_BY_IDS(ids=json.dumps(list(ids))))
    return [from_fields(row) for row in readable(rows)]


async def service_name(db: Database, service: str | None, declared: Sequence[str]) -> str | None:
    """Return a service's name as services.yaml spells it, else as it was first written."""
    if service is None or normalize_service_name(service) == GENERAL:
        return None
    for name in declared:
        if is_same_service(name, service):
            return name
    if (written := await spelling(db, memories, service)) is not None:
        return written
    from lamplighter.repository.store.tables import events  # few names occur only in events

    return await spelling(db, events, service) or service


async def spelling(db: Database, table: sa.Table, service: str) -> str | None:
    """Return the spelling of a service in the rows of a table, ignoring case."""
    exact, every = _prepare_spelling(table)
    if await db.fetch_val(exact(service=service)) is not None:
        return service
    names = [row["value"] for row in await db.fetch_all(every())]
    names = [name for name in names if name and isinstance(name, str)]
    return next((name for name in names if is_same_service(name, service)), None)


@cache
def _prepare_spelling(table: sa.Table) -> tuple[Statement, Statement]:
    column = table.c.service
    exact = sa.select(column).where(column == sa.bindparam("service")).limit(1)
    return Statement(exact), Statement(distinct_values(column))


async def insert(db: Database, candidate: Candidate, *, now: datetime) -> Memory:
    """Store a candidate as a new memory."""
    new = new_memory(candidate, now=now)
    number = await db.fetch_val(_INSERT(**row_values(new, STORED)))
    memory = replace(new, id=MemoryId(number))
    await _index_and_publish(db, memory, ChangeOp.CREATED, now=now)
    return memory


async def update(db: Database, memory: Memory, *, now: datetime) -> None:
    """Store the current state of a memory."""
    await db.execute(_UPDATE(number=memory.id, **row_values(memory, _UPDATED)))
    await _index_and_publish(db, memory, ChangeOp.UPDATED, now=now)


async def page(
    db: Database,
    selection: MemoryFilter,
    *,
    sort: Sort | Order,
    limit: int,
    position: Sequence[Any] | None = None,
    at: datetime | None = None,
) -> Page[Memory]:
    """Return one page of memories, after `position` if it is passed."""
    selection = await name_few(db, selection, at=at)
    asked = partial(conditions, selection)
    order = sort if isinstance(sort, Order) else Order(sort)
    found = await listing.page(db, at, asked, order, limit=limit, position=position)
    return Page([placed(row, at) for row in found.items], found.position)


async def count(db: Database, selection: MemoryFilter, *, at: datetime | None = None) -> int:
    """Return the number of memories."""
    if at is None and replace(selection, view=None).everything and selection.view in _LISTED:
        return int(await db.fetch_val(_COUNT_LISTED(view=selection.view)))
    if at is None:
        return int(await db.fetch_val(_count_now(selection)()))
    return await _counted(db, partial(conditions, selection), at)


@lru_cache(256)
def _count_now(selection: MemoryFilter) -> Statement:
    where = conditions(selection, memories.c)
    if selection.view is View.FADING and not selection.ids:  # most memories are active: no index
        where = [Unindexed(each) for each in where]
    return Statement(_number_of(memories, where), long=True)


async def list_eligible(
    db: Database, selection: PromptFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Any]:
    """Return rows of active operational memories in prompt order; `placed` reads a row."""
    few = await _find_few(db, selection) if selection.at is None else None
    asked, order = partial(eligible, selection, few=few), Order(Sort.CONFIDENCE)
    return await listing.page(db, selection.at, asked, order, limit=limit, position=position)


async def count_eligible(db: Database, selection: PromptFilter) -> int:
    """Return the number of memories that are eligible for prompts.

    For all current memories, the others are subtracted from the total: SQLite counts a whole index
    by its pages, and reads only the other rows.
    """
    if selection != PromptFilter():
        return await _counted(db, partial(eligible, selection), selection.at)
    return int(await db.fetch_val(_COUNT_ELIGIBLE()))


async def _counted(db: Database, conditions: listing.Conditions, at: datetime | None) -> int:
    found = parts(at, reads=conditions, counts=True)
    queries = [_number_of(rows, conditions(rows.c)) for rows in found]
    return sum([int(await db.fetch_val(query)) for query in queries])


def _number_of(rows: sa.FromClause, conditions: Sequence[sa.ColumnElement[bool]]) -> Any:
    return sa.select(sa.func.count()).select_from(rows).where(*conditions)


def eligible(
    selection: PromptFilter, columns: Any, *, few: sa.Select[Any] | None = None
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of memories that are eligible for prompts; `few` selects their IDs."""
    clauses: list[sa.ColumnElement[bool]] = [
        columns.active == 1,
        columns.confidence >= ACTIVE_THRESHOLD,
        columns.category.in_(OPERATIONAL),
    ]
    if selection.without:
        clauses.append(columns.id.not_in(selection.without))
    if selection.services is not None:
        own = columns.service.in_(selection.services)
        clauses.append(own if selection.inside else columns.service.is_(None) | ~own)
    if selection.longest is not None:
        clauses.append(sa.func.length(columns.observation) <= selection.longest)
    if few is not None:  # SQLite would otherwise read all memories in the order of prompts
        clauses = [columns.id.in_(few), *map(Unindexed, clauses)]
    return clauses


_BRIEF: Final = memories.alias("brief")
_ACTIVE: Final = sa.select(_BRIEF.c.id).where(_BRIEF.c.active == 1)


def _short(longest: Any) -> sa.Select[Any]:
    return _ACTIVE.where(sa.func.length(_BRIEF.c.observation) <= longest)


def _of_services(names: Any) -> sa.Select[Any]:
    return _ACTIVE.where(InTextList(_BRIEF.c.service, names))


_COUNT_SHORT, _COUNT_OF_SERVICES = (
    Statement(sa.select(sa.func.count()).select_from(narrow.limit(MAX_FEW + 1).subquery()))
    for narrow in (
        _short(sa.bindparam("longest", type_=NUMBER)),
        _of_services(sa.bindparam("names", type_=sa.Text)),
    )
)


async def _find_few(db: Database, selection: PromptFilter) -> sa.Select[Any] | None:
    """Select the IDs of few memories that include those of a filter; None if there are many."""
    longest, services = selection.longest, selection.services
    if longest is not None and await db.fetch_val(_COUNT_SHORT(longest=longest)) <= MAX_FEW:
        return _short(longest)
    if services is None or not selection.inside:
        return None
    names = Json.written(list(services))
    few = await db.fetch_val(_COUNT_OF_SERVICES(names=names)) <= MAX_FEW
    return _of_services(sa.literal(names, sa.Text)) if few else None


def placed(row: dict[str, Any], at: datetime | None) -> Memory:
    """Return the memory of a row of a page."""
    return from_fields(row) if at is None else _with_content_hash(row)


_publish = publisher(ENTITY, serialize.memory)


async def _index_and_publish(db: Database, memory: Memory, op: ChangeOp, *, now: datetime) -> None:
    from lamplighter.repository.feed import indexing  # slow import, not needed by reads

    await indexing.index_changed_memory(db, memory, new=op is ChangeOp.CREATED)
    await _publish(db, memory, op, now=now)


def row_values(memory: Memory, names: Sequence[str]) -> dict[str, Any]:
    """Return these fields of a memory as column values; the hash is computed from its text."""
    values = {name: getattr(memory, name) for name in names}
    values["tags"] = list(memory.tags)
    values["content_hash"] = content_hash(memory.observation)
    return values


def _with_content_hash(row: Any) -> Memory:
    was = from_row(row)
    return replace(was, content_hash=content_hash(was.observation))
