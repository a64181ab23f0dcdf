"""Lists of memories in pages, of all that is asked for, in one order."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.repository.columns import Stamp
from lamplighter.repository.database import Database
from lamplighter.repository.paging import Key, Page, after
from lamplighter.repository.past import parts
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import memories

NAMELESS: Final = "\U0010ffff"
UPDATED: Final = "updated_text"
_PLACING: Final = ("id", "confidence", "service", "updated_at")

Conditions = Callable[[Any], Sequence[sa.ColumnElement[bool]]]


class Sort(StrEnum):
    """In which order a list of memories comes."""

    CONFIDENCE = "confidence"
    UPDATED = "updated"
    CREATED = "created"
    SERVICE = "service"


async def page(
    db: Database,
    at: datetime | None,
    wanted: Conditions,
    sort: Sort,
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[Any]:
    """Return one page of the rows as they stand or (`at`) stood; `wanted` says of which columns.

    What has to be rebuilt is put into order by as few of its columns as that takes.
    """
    whole = at is None
    found = [
        await _rows(db, rows, wanted, sort, limit=limit + 1, position=position, whole=whole)
        for rows in parts(at)
    ]
    merged = found[0] if at is None else _merged(list(chain(*found)), sort)
    behind = _position(sort, merged[limit - 1]) if len(merged) > limit else None
    return Page(merged[:limit] if at is None else await _rebuilt(db, merged[:limit], at), behind)


async def _rows(
    db: Database,
    rows: sa.FromClause,
    wanted: Conditions,
    sort: Sort,
    *,
    limit: int,
    position: Sequence[Any] | None,
    whole: bool,
) -> list[Any]:
    keys = _order(sort, rows.c)
    columns = [rows] if whole else [rows.c[name] for name in _PLACING]
    query = sa.select(*columns, _stamp(rows.c).label(UPDATED)).where(*wanted(rows.c))
    if position is not None:
        query = query.where(after(keys, position))
    query = query.order_by(*(key.ordered() for key in keys))
    return list(await fetched(db, query, limit))


async def _rebuilt(db: Database, placed: Sequence[Any], at: datetime) -> list[Any]:
    """Return the whole rows of those that were put into order."""
    ids = [row["id"] for row in placed]
    found: dict[int, Any] = {}
    for rows in parts(at, only=ids):
        query = sa.select(rows).where(rows.c.id.in_(ids))
        found.update({row["id"]: row for row in await db.fetch_all(query)})
    return [found[number] for number in ids]


def _merged(rows: list[Any], sort: Sort) -> list[Any]:
    """Bring rows of several parts into the order that each of them has."""
    downward = [key.descending for key in _order(sort, memories.c)]
    placed = [(_position(sort, row), row) for row in rows]
    for at, descending in reversed(list(enumerate(downward))):
        placed.sort(key=lambda each: each[0][at], reverse=descending)
    return [row for _, row in placed]


def _stamp(columns: Any) -> sa.ColumnElement[str]:
    """Return the moment as it is stored, to page by: by hand it may have no fraction."""
    return sa.type_coerce(columns.updated_at, Stamp)


def surest_first(columns: Any) -> list[Key]:
    """Return the order in which sessions are told."""
    return [
        Key(columns.confidence, descending=True),
        Key(_stamp(columns), descending=True),
        Key(columns.id),
    ]


def _order(sort: Sort, columns: Any) -> list[Key]:
    surest, newest, number = surest_first(columns)
    match sort:
        case Sort.CONFIDENCE:
            return [surest, newest, number]
        case Sort.UPDATED:
            return [newest, number]
        case Sort.CREATED:
            return [Key(columns.id, descending=True)]
        case Sort.SERVICE:
            # general, which has no name, comes last
            return [Key(sa.func.coalesce(columns.service, NAMELESS)), surest, number]


def _position(sort: Sort, row: Any) -> list[Any]:
    match sort:
        case Sort.CONFIDENCE:
            return [row["confidence"], row[UPDATED], row["id"]]
        case Sort.UPDATED:
            return [row[UPDATED], row["id"]]
        case Sort.CREATED:
            return [row["id"]]
        case Sort.SERVICE:
            return [row["service"] or NAMELESS, row["confidence"], row["id"]]
