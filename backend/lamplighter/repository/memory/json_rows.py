"""JSON of memory rows, built from database values without domain objects.

A list of memories needs no domain rule: stored values are returned once each column has been found
readable. Columns are checked whole, over all rows of a page: that takes a third of the time.
`serialize.memory` returns the same for a memory that has been read.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from lamplighter.domain.fields import DeclaredField
from lamplighter.domain.memory.memory import MEMORY_FIELDS
from lamplighter.formats.serialize import format_moment
from lamplighter.repository.memory.listing import Order, ordered
from lamplighter.repository.memory.memories import MemoryFilter, conditions
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import moment
from lamplighter.repository.store.statements import Page, Statement
from lamplighter.repository.store.tables import memories
from lamplighter.repository.store.unreadable import (
    ACCEPTED_TYPES,
    UPDATED,
    fetch_readable,
    log_unreadable,
)

_STORED: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_MAX_CACHED: Final = 256
"""The number of compiled lists in the cache: compiling a list takes longer than running it."""
_FIELDS: Final = tuple(MEMORY_FIELDS.values())
_NAMES: Final = (*(each.name for each in _FIELDS), UPDATED)
_PUBLIC: Final = (*(each.name for each in _FIELDS if each.declared.public), UPDATED)
_COLUMNS: Final = [
    sa.type_coerce(memories.c[each.name], sa.types.NULLTYPE).label(each.name) for each in _FIELDS
]

Check = Callable[[Any], Any]
ColumnReader = Callable[[Sequence[Any]], Sequence[Any]]
J = TypeVar("J", list[Any], dict[str, Any])


async def page(
    db: Database,
    selection: MemoryFilter,
    order: Order,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[Mapping[str, Any]]:
    """Return one page of the current memories, after `position`, each as its JSON."""

    def first(most: int) -> Any:
        if position is not None:
            return _query(selection, order, position).limit(most)
        return _first_page(selection, order, most)()

    rows = await fetch_readable(db, first, limit + 1, _to_json)
    behind = order.position(rows[limit - 1]) if len(rows) > limit else None
    for row in rows:
        del row[UPDATED]
    return Page(rows[:limit], behind)


@lru_cache(_MAX_CACHED)
def _first_page(selection: MemoryFilter, order: Order, most: int) -> Statement:
    return Statement(_query(selection, order, None).limit(most), long=True, tuples=True)


def _query(selection: MemoryFilter, order: Order, position: Sequence[Any] | None) -> sa.Select[Any]:
    asked = conditions(selection, memories.c)
    return ordered(_COLUMNS, memories, asked, order, position)


def _to_json(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Convert rows to JSON; an unreadable row is left out and named in the log."""
    if not rows:
        return []
    values = (row.values() if isinstance(row, dict) else row for row in rows)
    columns: dict[str, Sequence[Any]] = dict(zip(_NAMES, zip(*values, strict=True), strict=True))
    wrong = _read(columns)
    if wrong is None:
        shown = zip(*(columns[name] for name in _PUBLIC), strict=True)
        return [dict(zip(_PUBLIC, row, strict=True)) for row in shown]
    if len(rows) > 1:
        return [each for row in rows for each in _to_json([row])]
    log_unreadable(columns["id"][0], wrong)
    return []


def _read(columns: dict[str, Sequence[Any]]) -> str | None:
    """Convert columns to JSON in place; return the name of the first unreadable column."""
    for name, read in _COLUMN_READERS:
        try:
            columns[name] = read(columns[name])
        except (ValueError, TypeError, OverflowError, RecursionError):
            return name
    return None


def _moment(text: str | None) -> str | None:
    """Return a moment in its JSON form, which is the stored form; edited rows may hold less."""
    if text is None:
        return None
    read = moment(text)
    return text if _STORED.fullmatch(text) else format_moment(read)


def _list(text: str | None) -> list[Any]:
    return [] if text == "[]" else _json(text, list)


def _object(text: str | None) -> dict[str, Any]:
    return {} if text == "{}" else _json(text, dict)


def _json(text: str | None, kind: type[J]) -> J:
    found = json.loads(text or "")
    if type(found) is not kind:
        raise ValueError("not of its kind")
    return found


def _needed(read: Check) -> Check:
    def checked(value: Any) -> Any:
        if value is None:
            raise ValueError("NULL")
        return read(value)

    return checked


_READERS: Final[Mapping[type[Any], Check]] = {
    datetime: _moment,
    tuple: _list,
    dict: _object,
    bool: bool,
}


def _reader(field: DeclaredField) -> Check:
    read = _READERS[field.value_type]
    return read if field.nullable else _needed(read)


def _each(read: Check) -> ColumnReader:
    """Return a reader of columns that converts each distinct value once."""

    def converted(column: Sequence[Any]) -> Sequence[Any]:
        values = {value: read(value) for value in set(column)}
        return [values[each] for each in column]

    return converted


def _all(holds: Callable[[Sequence[Any]], bool]) -> ColumnReader:
    """Return a reader that leaves a column unchanged; raises ValueError if a check fails."""

    def checked(column: Sequence[Any]) -> Sequence[Any]:
        if not holds(column):
            raise ValueError("not readable")
        return column

    return checked


def _typed(kinds: frozenset[type]) -> ColumnReader:
    return _all(lambda column: kinds.issuperset(map(type, column)))


def _in_range(column: Sequence[float]) -> bool:
    return all(0.0 <= each <= 1.0 for each in column)


def _choices(field: DeclaredField) -> frozenset[Any]:
    return frozenset([*map(str, field.choices or ()), *([None] if field.nullable else [])])


_COLUMN_READERS: Final[Sequence[tuple[str, ColumnReader]]] = (
    *(
        (each.name, _typed(frozenset(ACCEPTED_TYPES[each.name])))
        for each in _FIELDS
        if each.name in ACCEPTED_TYPES and each.value_type not in _READERS
    ),
    *((each.name, _all(_choices(each).issuperset)) for each in _FIELDS if each.choices),
    *((each.name, _each(_reader(each))) for each in _FIELDS if each.value_type in _READERS),
    ("confidence", _all(_in_range)),
)
