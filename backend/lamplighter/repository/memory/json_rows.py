"""Rows of memories as their JSON, made of what the database gives without a value in between.

A list of memories needs no rule of a memory: what is stored is what goes out, once each column
has been found to be readable. `serialize.memory` gives the same for one that has been read.
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
"""How many lists are kept compiled: to build and compile one takes longer than to run it."""
_FIELDS: Final = tuple(MEMORY_FIELDS.values())
_PRIVATE: Final = tuple(each.name for each in _FIELDS if not each.declared.public)
_COLUMNS: Final = [
    sa.type_coerce(memories.c[each.name], sa.types.NULLTYPE).label(each.name) for each in _FIELDS
]

Check = Callable[[Any], Any]
J = TypeVar("J", list[Any], dict[str, Any])


async def page(
    db: Database,
    selection: MemoryFilter,
    order: Order,
    *,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[Mapping[str, Any]]:
    """Return one page of memories as they are now, behind `position`, each as its JSON."""

    def first(most: int) -> Any:
        if position is not None:
            return _query(selection, order, position).limit(most)
        return _first_page(selection, order, most)()

    rows = await fetch_readable(db, first, limit + 1, _to_json)
    behind = order.position(rows[limit - 1]) if len(rows) > limit else None
    for row in rows:
        for name in (*_PRIVATE, UPDATED):
            del row[name]
    return Page(list(rows[:limit]), behind)


@lru_cache(_MAX_CACHED)
def _first_page(selection: MemoryFilter, order: Order, most: int) -> Statement:
    return Statement(_query(selection, order, None).limit(most), long=True)


def _query(selection: MemoryFilter, order: Order, position: Sequence[Any] | None) -> sa.Select[Any]:
    asked = conditions(selection, memories.c)
    return ordered(_COLUMNS, memories, asked, order, position)


def _to_json(row: dict[str, Any]) -> bool:
    """Turn a row into its JSON; False, and a line in the log, when it cannot be read."""
    for name, kinds in _UNCONVERTED:
        if type(row[name]) not in kinds:
            return _refuse(row, name)
    for name, values in _CHOSEN:
        if row[name] not in values:
            return _refuse(row, name)
    try:
        for name, read in _READ:
            row[name] = read(row[name])
    except (ValueError, TypeError, OverflowError, RecursionError):
        return _refuse(row, name)
    return True if 0.0 <= row["confidence"] <= 1.0 else _refuse(row, "confidence")


def _refuse(row: dict[str, Any], column: str) -> bool:
    log_unreadable(row["id"], column)
    return False


def _moment(text: str | None) -> str | None:
    """Return a moment as JSON has it, which is how we store it; people may have written less."""
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


def _named(fields: Sequence[DeclaredField], made: Callable[[DeclaredField], Any]) -> list[Any]:
    return [(each.name, made(each)) for each in fields]


_READ: Final[list[tuple[str, Check]]] = _named(
    [each for each in _FIELDS if each.value_type in _READERS], _reader
)
_CHOSEN: Final[list[tuple[str, frozenset[Any]]]] = _named(
    [each for each in _FIELDS if each.choices],
    lambda each: frozenset([*map(str, each.choices or ()), *([None] if each.nullable else [])]),
)
_UNCONVERTED: Final[list[tuple[str, tuple[type, ...]]]] = [
    (each.name, ACCEPTED_TYPES[each.name])
    for each in _FIELDS
    if each.name in ACCEPTED_TYPES and each.value_type not in _READERS
]
