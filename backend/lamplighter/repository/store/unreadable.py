"""Memory rows as values, including rows with unreadable values, written outside the app."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.errors import Conflict
from lamplighter.domain.fields import DeclaredField
from lamplighter.domain.memory.memory import MEMORY_FIELDS, Memory
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import Stored
from lamplighter.repository.store.statements import Row
from lamplighter.repository.store.tables import memories

UPDATED: Final = "updated_text"
"""The time of a row's last change as text, for the order of lists."""

EXCERPT_CHARS: Final = 60
GROWTH_FACTOR: Final = 4
MAX_LOGGED: Final = 1_000
BATCH_SIZE: Final = 1_000
HINT: Final = "Fix the row in the database, or delete it."

logger = logging.getLogger(__name__)

_NUMBERED: Final = ("id", "session_id")  # columns that identify or reference a row


def _accepted(field: DeclaredField) -> tuple[type, ...]:
    kind = list if field.value_type is tuple else field.value_type
    return (kind, type(None)) if field.nullable else (kind,)


ACCEPTED_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    name: _accepted(each)
    for name, each in MEMORY_FIELDS.items()
    if each.choices is None and each.value_type is not bool and name not in _NUMBERED
}
_ALLOWED_VALUES: Final[Mapping[str, frozenset[Any]]] = {
    each.name: frozenset([*each.choices, *([None] if each.nullable else [])])
    for each in MEMORY_FIELDS.values()
    if each.choices is not None
}
_TYPE_NAMES: Final = {
    str: "text",
    int: "a whole number",
    datetime: "a moment",
    list: "a JSON list",
    dict: "a JSON object",
}


class Unreadable(Conflict):
    """A row holds an invalid value; a person has to repair or delete it."""

    def __init__(self, number: int, column: str, value: Any) -> None:
        self.number, self.column = number, column
        said = shorten(one_line(repr(value)), EXCERPT_CHARS)
        super().__init__(
            f"Memory {number} cannot be read: its {column} is {said}, not {_valid(column)}. {HINT}"
        )


def unreadable_column(row: Mapping[str, Any]) -> str | None:
    """Return the first unreadable column of a row, among the columns that the row has."""
    for name, kinds in ACCEPTED_TYPES.items():
        if name in row and type(row[name]) not in kinds:
            return name
    for name, known in _ALLOWED_VALUES.items():
        if name in row and row[name] not in known:
            return name
    if "confidence" in row and not 0.0 <= row["confidence"] <= 1.0:
        return "confidence"
    return None


def is_readable(row: Mapping[str, Any]) -> bool:
    """Whether a row can be read; an unreadable row is logged once."""
    column = unreadable_column(row)
    if column is not None:
        log_unreadable(row["id"], column)
    return column is None


def readable(rows: Sequence[Row]) -> list[Row]:
    """Return the readable ones of some rows with the same columns.

    To check whole columns is three times as fast as to check each row.
    """
    if rows and _are_readable(
        dict(zip(rows[0], zip(*map(Row.values, rows), strict=True), strict=True))
    ):
        return list(rows)
    return [row for row in rows if is_readable(row)]


def _are_readable(columns: Mapping[str, Sequence[Any]]) -> bool:
    return (
        all(
            {*map(type, columns.get(name, ()))}.issubset(kinds)
            for name, kinds in ACCEPTED_TYPES.items()
        )
        and all(known.issuperset(columns.get(name, ())) for name, known in _ALLOWED_VALUES.items())
        and all(0.0 <= each <= 1.0 for each in columns.get("confidence", ()))
    )


async def fetch_readable(
    db: Database,
    first: Callable[[int], Any],
    limit: int,
    read: Callable[[Sequence[Any]], list[Any]] = readable,
) -> list[Any]:
    """Return the first readable rows of a query; `first` builds the query with a limit."""
    most = limit
    while True:
        rows = await db.fetch_all(first(most))
        found = read(rows)
        if len(found) >= limit or len(rows) < most:
            return found[:limit]
        most *= GROWTH_FACTOR


async def fetch_memories(db: Database, query: sa.Select[Any], limit: int) -> list[Memory]:
    """Return the first readable memories of a query."""
    return [from_fields(row) for row in await fetch_readable(db, query.limit, limit)]


async def list_unreadable(url: str, most: int) -> list[Unreadable]:
    """Return the problems of the first unreadable rows; changes nothing."""
    problems: list[Unreadable] = []
    async with Database(url) as db:
        query, last = sa.select(memories).order_by(memories.c.id).limit(BATCH_SIZE), 0
        while rows := [dict(row) for row in await db.fetch_all(query.where(memories.c.id > last))]:
            last = rows[-1]["id"]
            for row in rows:
                if column := unreadable_column(row):
                    problems.append(Unreadable(row["id"], column, row[column]))
            if len(problems) >= most:
                break
    return problems[:most]


def count_unreadable() -> int:
    """Return the number of unreadable rows that this process has found."""
    return log_unreadable.cache_info().currsize


@lru_cache(MAX_LOGGED)
def log_unreadable(number: int, column: str) -> None:
    """Log, once per row, that a row is left out because a column cannot be read."""
    logger.warning("Skipped memory %s: its %s cannot be read.", number, column)


def _valid(column: str) -> str:
    choices = MEMORY_FIELDS[column].choices
    if choices is not None:
        return f"one of {', '.join(choices)}"
    return (
        "a number from 0 to 1" if column == "confidence" else _TYPE_NAMES[ACCEPTED_TYPES[column][0]]
    )


def from_row(row: Any) -> Memory:
    """Return the memory of a row; raises Unreadable."""
    column = unreadable_column(row)
    if column is not None:
        raise Unreadable(row["id"], column, row[column])
    return from_fields(row)


def _conversion(field: DeclaredField) -> Callable[[Any], Any] | None:
    if field.choices:
        members: dict[Any, Any] = {choice.value: choice for choice in field.choices}
        return {None: None, **members}.__getitem__
    return tuple if field.value_type is tuple else None


_SLOTS: Final = tuple(
    (name, Memory.__dict__[name].__set__, _conversion(each)) for name, each in MEMORY_FIELDS.items()
)


def from_fields(row: Mapping[str, Any]) -> Memory:
    """Return the memory of a row that was checked to be readable; other columns are ignored.

    The constructor of a frozen class takes three times as long to set so many fields.
    """
    memory = object.__new__(Memory)
    for name, put, convert in _SLOTS:
        value = row[name]
        put(memory, value if convert is None else convert(value))
    return memory


def fields_of(values: Sequence[Any]) -> dict[str, Any]:
    """Return a row of the table, as the driver returned it, by the names of its columns."""
    fields = dict(zip(memories.c.keys(), values, strict=True))
    for name, read in _READERS.items():
        fields[name] = read(fields[name])
    return fields


_READERS: Final = {
    column.name: column.type.read for column in memories.c if isinstance(column.type, Stored)
}
