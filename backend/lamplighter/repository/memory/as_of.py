"""Memories as of an earlier moment: the rows without their later changes.

Triggers maintain the periods of each memory, with the values that lists count and compare. All
other values come from the history entry that ended the period, which holds the memory's previous
state.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import iterate

from lamplighter.domain.memory.memory import HISTORY_FIELDS, KINDS, MemoryKind
from lamplighter.repository.store.dialect import NUMBER, OnSqlite, stamp
from lamplighter.repository.store.tables import history, memories, memory_periods

MOMENTS: Final = 32
OTHER_TEXT: Final = "other_text"
_IN_PERIOD: Final = frozenset(
    (
        *("id", "service", "category", "project", "active", "confidence", "updated_at"),
        *("session_id", OTHER_TEXT),
    )
)
READ: Final = sa.table(
    "read",
    *(sa.column(each.name, each.type) for each in memories.c),
    sa.column(OTHER_TEXT, sa.Text),
)
"""Placeholder columns of memories as of a moment, to find out which of them a query reads."""

_PRESENT: Final = memory_periods.c.present == sa.literal_column("1")
_OPEN: Final[sa.ColumnElement[str]] = sa.literal_column("'~'")


class _HistoryValue(FunctionElement[Any]):
    """A field of a history entry; if an older entry lacks the field, the row's value or another."""

    name = "kept"
    inherit_cache = True

    def __init__(
        self, entry: sa.ColumnElement[Any], row: sa.Column[Any], otherwise: Any = None
    ) -> None:
        self.type = row.type
        self.nullable = row.nullable
        held = row if otherwise is None else otherwise
        super().__init__(entry, sa.literal_column(f"'{row.name}'"), held)


class Unindexed(FunctionElement[Any]):
    """A value that SQLite must not look up in an index, because it matches most rows."""

    name = "unindexed"
    inherit_cache = True

    def __init__(self, value: sa.ColumnElement[Any]) -> None:
        self.type = NUMBER if isinstance(value.type, sa.Boolean) else value.type
        super().__init__(value)


def parts(
    at: datetime | None,
    *,
    only: Sequence[int] | None = None,
    reads: Callable[[Any], Iterable[sa.ColumnElement[Any]]] | None = None,
    counts: bool = False,
) -> Sequence[sa.FromClause]:
    """Return disjoint sources to select memories from; `at` None means the current memories.

    `only` limits the work to some memories beforehand. If `reads`, applied to the columns, covers
    all that a query reads, and periods hold these columns, no other table is read. `counts` is for
    queries that count all memories: an index has them in the order of their groups.
    """
    if at is None:
        return [memories]
    names = None if reads is None else set(_names(reads(READ.c)))
    narrow = names is not None and names <= _IN_PERIOD
    if narrow and counts:
        return [_in_period(*_whenever(at))]
    if names is not None and narrow and OTHER_TEXT in names:  # search the text only once
        return [
            _in_period(
                memory_periods.c.held_to > stamp(at), memory_periods.c.held_from <= stamp(at)
            )
        ]
    return _parts(at, None if only is None else tuple(only), narrow=narrow)


def _names(reads: Iterable[sa.ColumnElement[Any]]) -> Iterator[str]:
    for each in chain.from_iterable(map(iterate, reads)):
        if isinstance(each, sa.ColumnClause) and each.table is READ:
            yield each.name


@lru_cache(MOMENTS)
def _parts(at: datetime, only: tuple[int, ...] | None, *, narrow: bool) -> Sequence[sa.FromClause]:
    """Return the parts, cached: building them is slow, and a caller runs many queries of a moment.

    SQLite reads two ranges of the primary key; PostgreSQL would read its whole table twice.
    """
    held_to, held_from = memory_periods.c.held_to, memory_periods.c.held_from
    if only is not None:  # use the index of IDs, not that of periods
        return [_as_of(memory_periods.c.memory_id.in_(only), *_whenever(at))]
    until, later = held_from <= stamp(at), held_to > stamp(at)
    read = _in_period if narrow else _as_of
    lasting = OnSqlite(held_to == _OPEN, later)
    ended = OnSqlite(sa.and_(later, held_to < _OPEN), sa.false())
    return [read(lasting, until), read(ended, until)]


def _whenever(at: datetime) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    """Return the conditions of a moment in a form that no index of moments answers."""
    held_to, held_from = map(Unindexed, (memory_periods.c.held_to, memory_periods.c.held_from))
    return held_to > stamp(at), held_from <= stamp(at)


def _in_period(*period: sa.ColumnElement[bool]) -> sa.FromClause:
    """Return the columns of memories that periods store."""
    columns = [_column(name).label(name) for name in sorted(_IN_PERIOD)]
    return sa.select(*columns).where(_PRESENT, *period).subquery("was")


def _column(name: str) -> sa.ColumnElement[Any]:
    held: sa.ColumnElement[Any] = memory_periods.c["memory_id" if name == "id" else name]
    found: sa.ColumnElement[Any] = held if name == OTHER_TEXT else _typed(held, name)
    return found


def _as_of(*period: sa.ColumnElement[bool]) -> sa.FromClause:
    """Return whole memories as of some periods."""
    periods, then = memory_periods, history.alias("then")
    before = then.c.before
    was: dict[str, sa.ColumnElement[Any]] = {
        name: _HistoryValue(before, memories.c[name]) for name in HISTORY_FIELDS if name != "kind"
    }
    was |= {name: _column(name) for name in _IN_PERIOD}
    was["inactive_reason"] = _typed(
        sa.case((was["active"] == 1, None), else_=was["inactive_reason"]), "inactive_reason"
    )
    of_category = sa.case(
        (was["category"] == memories.c.category, memories.c.kind),
        *((was["category"] == category, kind.value) for category, kind in KINDS.items()),
        else_=MemoryKind.SEMANTIC.value,
    )
    was["kind"] = _typed(_HistoryValue(before, memories.c.kind, of_category), "kind")
    was["version"] = sa.func.coalesce(then.c.version - 1, memories.c.version)
    columns = [was.get(column.name, column).label(column.name) for column in memories.c]
    return (
        sa.select(*columns)
        .select_from(
            periods.outerjoin(memories, memories.c.id == periods.c.memory_id).outerjoin(
                then, then.c.id == periods.c.entry_id
            )
        )
        .where(_PRESENT, *period)
        .subquery("was")
    )


def _typed(value: Any, name: str) -> Any:
    return sa.type_coerce(value, memories.c[name].type)


@compiles(_HistoryValue, "sqlite")
def _history_value_sqlite(element: _HistoryValue, compiler: Any, **more: Any) -> str:
    entry, name, row = (compiler.process(each, **more) for each in element.clauses)
    path = f"'$.{name[1:-1]}'"
    return (
        f"coalesce(json_extract({entry}, {path}),"
        f" CASE WHEN json_type({entry}, {path}) IS NULL THEN {row} END)"
    )


@compiles(Unindexed, "sqlite")
def _unindexed_sqlite(element: Unindexed, compiler: Any, **more: Any) -> str:
    """Write a plus sign: unlike an empty text, it copies nothing."""
    return f"+({compiler.process(next(iter(element.clauses)), **more)})"


@compiles(Unindexed, "postgresql")
def _unindexed_postgres(element: Unindexed, compiler: Any, **more: Any) -> str:
    return f"({compiler.process(next(iter(element.clauses)), **more)})"


@compiles(_HistoryValue, "postgresql")
def _history_value_postgres(element: _HistoryValue, compiler: Any, **more: Any) -> str:
    entry, name, row = (compiler.process(each, **more) for each in element.clauses)
    text = f"(CAST({entry} AS jsonb) ->> {name})"
    kept = _cast_to_column(text, element.type)
    if not element.nullable:
        return f"coalesce({kept}, {row})"
    return f"CASE WHEN CAST({entry} AS jsonb) -> {name} IS NULL THEN {row} ELSE {kept} END"


def _cast_to_column(text: str, kind: Any) -> str:
    """Cast a field of JSON to the stored type of its column; a text needs no cast."""
    match kind:
        case sa.Float():
            return f"CAST({text} AS double precision)"
        case sa.Integer():
            return f"CAST({text} AS bigint)"
        case sa.types.TypeDecorator() if isinstance(kind.impl_instance, sa.Integer):
            return f"CAST(CAST({text} AS boolean) AS integer)"
    return text
