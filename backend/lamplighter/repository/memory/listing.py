"""Lists of memories in pages, filtered and sorted."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.repository.memory.as_of import OTHER_TEXT, parts
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList, Stamp, text_contains
from lamplighter.repository.store.statements import Key, Page, after
from lamplighter.repository.store.tables import memories, memory_periods
from lamplighter.repository.store.unreadable import UPDATED, fetch_readable, readable

FEW: Final = 2_000
NAMELESS: Final = "\U0010ffff"
STAMPED: Final = {UPDATED: "updated_at"}
_MISSING: Final = {"service": NAMELESS, "session_id": 0}
_SORT_COLUMNS: Final = (
    *("id", "confidence", "service", "updated_at", "category", "active", "session_id"),
)

Conditions = Callable[[Any], Sequence[sa.ColumnElement[bool]]]


class Sort(StrEnum):
    """The sort criterion of a list of memories."""

    CONFIDENCE = "confidence"
    UPDATED = "updated"
    CREATED = "created"
    SERVICE = "service"
    CATEGORY = "category"
    STATE = "state"
    SOURCE = "source"

    @property
    def falling(self) -> bool:
        """Whether the default is descending: the highest confidence, the newest first."""
        return self in (Sort.CONFIDENCE, Sort.UPDATED, Sort.CREATED, Sort.SOURCE)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a list of memories; `grouped` keeps the memories of a service together."""

    sort: Sort
    backward: bool = False
    grouped: bool = False

    def keys(self, columns: Any) -> list[Key]:
        """Return the sort keys of the rows; the last key is the ID."""
        keys = _order(self.sort, columns)
        if self.backward:
            whole = self.sort not in _IN_GROUPS
            keys = [_reversed(key) if whole or at == 0 else key for at, key in enumerate(keys)]
        groups = self.grouped and self.sort is not Sort.SERVICE
        return [Key(_named(columns)), *keys] if groups else keys

    def position(self, row: Any) -> list[Any]:
        """Return the position of a row in this order."""
        names = _POSITIONS[self.sort]
        groups = self.grouped and self.sort is not Sort.SERVICE
        return [
            _position_value(name, row[name]) for name in (("service", *names) if groups else names)
        ]


async def page(
    db: Database,
    at: datetime | None,
    conditions: Conditions,
    order: Order,
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[Any]:
    """Return one page of rows, now or as of `at`; `conditions` restrict the columns.

    Rows that have to be rebuilt are sorted with as few of their columns as possible.
    """
    whole = at is None

    def reads(columns: Any) -> Sequence[sa.ColumnElement[Any]]:
        return [*conditions(columns), *(key.column for key in order.keys(columns))]

    found = [
        await _rows(db, rows, conditions, order, limit=limit + 1, position=position, whole=whole)
        for rows in parts(at, reads=reads)
    ]
    merged = found[0] if at is None else _merged(list(chain(*found)), order)
    behind = order.position(merged[limit - 1]) if len(merged) > limit else None
    return Page(merged[:limit] if at is None else await _rebuilt(db, merged[:limit], at), behind)


def in_list(column: Any, ids: Sequence[int]) -> sa.ColumnElement[bool]:
    """Return the condition for some IDs, any number of them."""
    return InIdList(column, sa.literal(json.dumps(ids), sa.Text))


@dataclass(frozen=True, slots=True)
class TextMatches:
    """The memories with a text, if they are few: (0,) for none, empty for many.

    `common` is whether most memories seem to have the text: then those without it are the shorter
    list.
    """

    ids: tuple[int, ...]
    common: bool = False


async def match_text(db: Database, text: str, at: datetime | None) -> TextMatches:
    """Return the memories with a text, if they are few.

    Searching texts is slow, looking up a few IDs is not. As of a moment, memories that once had the
    text are included. If there are many, `common` is estimated from the density of the first IDs.
    """
    searches = [containing(text)]
    if at is not None:
        other = memory_periods.c.other_text
        had = sa.select(memory_periods.c.memory_id.label("id"))
        searches.append(had.where(other.is_not(None), text_contains(other, text)))
    rows = await db.fetch_all(sa.union_all(*searches).limit(FEW + 1))
    ids = {row["id"] for row in rows}
    if len(rows) <= FEW:
        return TextMatches(tuple(ids) or (0,))
    return TextMatches((), common=2 * len(ids) > max(ids) - min(ids))


def containing(text: str, ids: Sequence[int] = ()) -> sa.Select[Any]:
    """Select the IDs of the memories with a text, only among `ids` if any are passed."""
    few = [in_list(memories.c.id, ids)] if ids else []
    return sa.select(memories.c.id).where(*few, contains(text, memories.c))


def among(
    number: sa.ColumnElement[Any], text: str, ids: Sequence[int] = (), *, common: bool = False
) -> sa.ColumnElement[bool]:
    """Return the condition for memories with a text, by the shorter list: with or without it."""
    if not common:
        return number.in_(containing(text, ids))
    without = contains(text, memories.c, common=True).is_not(sa.true())
    return number.not_in(sa.select(memories.c.id).where(without))


def contains(
    text: str, columns: Any, ids: Sequence[int] = (), *, common: bool = False
) -> sa.ColumnElement[bool]:
    """Return the condition for rows with a text; a period has its own text if it changed later."""
    if OTHER_TEXT not in columns:
        both = (columns.observation, columns.title)
        return sa.or_(*(text_contains(each, text, often=common) for each in both))
    other, now = columns[OTHER_TEXT], among(columns.id, text, ids, common=common)
    return sa.or_(sa.and_(other.is_(None), now), text_contains(other, text))


async def _rows(
    db: Database,
    rows: sa.FromClause,
    conditions: Conditions,
    order: Order,
    *,
    limit: int,
    position: Sequence[Any] | None,
    whole: bool,
) -> list[Any]:
    columns = [rows] if whole else [rows.c[name] for name in _SORT_COLUMNS if name in rows.c]
    query = ordered(columns, rows, conditions(rows.c), order, position)
    return list(await fetch_readable(db, query.limit, limit))


def ordered(
    columns: Sequence[Any],
    rows: sa.FromClause,
    conditions: Sequence[sa.ColumnElement[bool]],
    order: Order,
    position: Sequence[Any] | None,
) -> sa.Select[Any]:
    """Build the query for some columns in an order, of the rows after a position."""
    keys = order.keys(rows.c)
    query = sa.select(*columns, _stamp(rows.c).label(UPDATED)).where(*conditions)
    if position is not None:
        query = query.where(after(keys, position))
    return query.order_by(*(key.ordered() for key in keys))


async def _rebuilt(db: Database, placed: Sequence[Any], at: datetime) -> list[Any]:
    """Return the readable whole rows of the sorted rows."""
    ids = [row["id"] for row in placed]
    found: dict[int, Any] = {}
    for rows in parts(at, only=ids):
        query = sa.select(rows).where(rows.c.id.in_(ids))
        found.update({row["id"]: row for row in await db.fetch_all(query)})
    return readable([found[number] for number in ids])


def _merged(rows: list[Any], order: Order) -> list[Any]:
    """Merge the rows of several parts, each of which is sorted already."""
    downward = [key.descending for key in order.keys(memories.c)]
    placed = [(order.position(row), row) for row in rows]
    for at, descending in reversed(list(enumerate(downward))):
        placed.sort(key=lambda each: each[0][at], reverse=descending)
    return [row for _, row in placed]


def _stamp(columns: Any) -> sa.ColumnElement[str]:
    """Return the stored moment, for paging: rows written outside the app may lack the fraction."""
    return sa.type_coerce(columns.updated_at, Stamp)


def prompt_order(columns: Any) -> list[Key]:
    """Return the order of memories in prompts."""
    return [
        Key(columns.confidence, descending=True),
        Key(_stamp(columns), descending=True),
        Key(columns.id),
    ]


def sort_columns(sort: Sort) -> list[tuple[str, bool]]:
    """Return the columns that an order compares, and whether each is descending."""
    names = [STAMPED.get(name, name) for name in _POSITIONS[sort]]
    keys = Order(sort).keys(memories.c)
    return [(name, key.descending) for name, key in zip(names, keys, strict=True)]


def _order(sort: Sort, columns: Any) -> list[Key]:
    surest, newest, number = prompt_order(columns)
    match sort:
        case Sort.CONFIDENCE:
            return [surest, newest, number]
        case Sort.UPDATED:
            return [newest, Key(columns.id, descending=True)]
        case Sort.CREATED:
            return [Key(columns.id, descending=True)]
        case Sort.SERVICE:
            return [Key(_named(columns)), surest, number]
        case Sort.CATEGORY:
            return [Key(columns.category), surest, number]
        case Sort.STATE:
            active = sa.type_coerce(columns.active, sa.Integer)
            return [Key(active, descending=True), surest, number]
        case Sort.SOURCE:
            # memories written by a person have no session, and come last
            # literal, as in the index
            session = sa.func.coalesce(columns.session_id, sa.literal_column("0"))
            return [Key(session, descending=True), Key(columns.id, descending=True)]


def _named(columns: Any) -> sa.ColumnElement[str]:
    """Return the service to sort by: general memories, without a service, come last."""
    return sa.func.coalesce(columns.service, NAMELESS)


def _reversed(key: Key) -> Key:
    return replace(key, descending=not key.descending)


def _position_value(name: str, value: Any) -> Any:
    return int(value) if name == "active" else value or _MISSING.get(name, value)


_IN_GROUPS: Final = (Sort.SERVICE, Sort.CATEGORY, Sort.STATE)
"""Within equal values, higher confidence comes first in either direction."""
_POSITIONS: Final[dict[Sort, tuple[str, ...]]] = {
    Sort.CONFIDENCE: ("confidence", UPDATED, "id"),
    Sort.UPDATED: (UPDATED, "id"),
    Sort.CREATED: ("id",),
    Sort.SERVICE: ("service", "confidence", "id"),
    Sort.CATEGORY: ("category", "confidence", "id"),
    Sort.STATE: ("active", "confidence", "id"),
    Sort.SOURCE: ("session_id", "id"),
}


def lasts(now: datetime) -> sa.ColumnElement[bool]:
    """Return the condition for memories that have not expired, marked as expired or not."""
    return memories.c.expires_at.is_(None) | (memories.c.expires_at > now)
