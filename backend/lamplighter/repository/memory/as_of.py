"""Memories as of an earlier moment: the rows without their later changes.

Most rows have not changed since: those are read as they are, by their indexes. The others come
out of what the first entry of their history after the moment says of them before it.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from lamplighter.domain.memory.memory import HISTORY_FIELDS, KINDS, RESTORED, MemoryKind
from lamplighter.repository.store.dialect import stamp
from lamplighter.repository.store.tables import history, memories

MOMENTS: Final = 32


class _HistoryValue(FunctionElement[Any]):
    """A field of what an entry keeps; of an entry of old the row's as it is now, or another."""

    name = "kept"
    inherit_cache = True

    def __init__(
        self, entry: sa.ColumnElement[Any], row: sa.Column[Any], otherwise: Any = None
    ) -> None:
        self.type = row.type
        self.nullable = row.nullable
        held = row if otherwise is None else otherwise
        super().__init__(entry, sa.literal_column(f"'{row.name}'"), held)


class _PerDialect(FunctionElement[bool]):
    """A condition in the form that SQLite is fast with, and in that of PostgreSQL."""

    name = "either"
    inherit_cache = True
    type = sa.Boolean()


def parts(at: datetime | None, *, only: Sequence[int] | None = None) -> Sequence[sa.FromClause]:
    """Return what to select memories from: none is in two of them. None is as they are now.

    `only` limits the work to some memories beforehand.
    """
    if at is None:
        return [memories]
    return _parts(at, None if only is None else tuple(only))


@lru_cache(MOMENTS)
def _parts(at: datetime, only: tuple[int, ...] | None) -> Sequence[sa.FromClause]:
    """Return the parts; who looks at a moment asks many things of it, and to say it takes long."""
    # most memories of a long history came later: their numbers are higher than this one
    newest = (
        sa.select(sa.func.max(memories.c.id)).where(memories.c.created_at <= at).scalar_subquery()
    )
    if only is None:
        after = [history.c.at > at, history.c.memory_id <= newest]
    else:  # by the numbers, not by the moment
        after = [history.c.memory_id.in_(only), _text_of(history.c.at) > stamp(at)]
    among = memories.c.id <= newest if only is None else memories.c.id.in_(only)
    return [_untouched(at, after, among), _rebuilt(at, after)]


def _text_of(moment: sa.Column[datetime]) -> sa.ColumnElement[str]:
    return sa.type_coerce(moment, sa.Text).concat("")


def _untouched(
    at: datetime, after: Sequence[sa.ColumnElement[bool]], among: sa.ColumnElement[bool]
) -> sa.FromClause:
    changed = sa.select(history.c.memory_id).where(*after)
    # to PostgreSQL a list looks short, and it would go through the history for each memory
    listed = changed.distinct().cte("changed").prefix_with("MATERIALIZED", dialect="postgresql")
    there = sa.select(1).where(listed.c.memory_id == memories.c.id).exists()
    untouched = _PerDialect(memories.c.id.not_in(changed), ~there.correlate(memories))
    return (
        sa.select(memories)
        .where(untouched)
        .where(memories.c.created_at <= at)
        .where(among)
        .subquery("untouched")
    )


def _rebuilt(at: datetime, after: Sequence[sa.ColumnElement[bool]]) -> sa.FromClause:
    first, then = _first_after(at, after), history.alias("then")
    was: dict[str, sa.ColumnElement[Any]] = {
        name: _HistoryValue(then.c.before, memories.c[name])
        for name in HISTORY_FIELDS
        if name != "kind"
    }
    was["inactive_reason"] = _typed(
        sa.case((was["active"] == 1, None), else_=was["inactive_reason"]), "inactive_reason"
    )
    of_category = sa.case(
        (was["category"] == memories.c.category, memories.c.kind),
        *((was["category"] == category, kind.value) for category, kind in KINDS.items()),
        else_=MemoryKind.SEMANTIC.value,
    )
    was["kind"] = _typed(_HistoryValue(then.c.before, memories.c.kind, of_category), "kind")
    was["version"] = sa.func.coalesce(then.c.version - 1, memories.c.version)
    columns = [was.get(column.name, column).label(column.name) for column in memories.c]
    return (
        sa.select(*columns)
        .select_from(
            first.join(memories, memories.c.id == first.c.memory_id).outerjoin(
                then, then.c.id == first.c.entry_id
            )
        )
        .where(memories.c.created_at <= at)
        .where(then.c.cause.is_distinct_from(RESTORED))  # it was in the trash then
        .subquery("rebuilt")
    )


def _first_after(at: datetime, after: Sequence[sa.ColumnElement[bool]]) -> sa.Subquery:
    """Return the first entry of each memory behind the last one that happened until a moment.

    The order of entries is that of their numbers, for a clock may have been set back: when the
    newest entry of all happened until the moment there is none, and the row is as it is now.
    """
    # the sum keeps SQLite from reading the whole history in the order of memories
    number = (history.c.memory_id + 0).label("memory_id")
    touched = sa.select(number).distinct().where(*after).subquery("touched")
    until, later = history.alias("until"), history.alias("later")
    last = (
        sa.select(sa.func.max(until.c.id))
        .where(until.c.memory_id == touched.c.memory_id)
        .where(until.c.at <= at)
        .scalar_subquery()
    )
    first = (
        sa.select(sa.func.min(later.c.id))
        .where(later.c.memory_id == touched.c.memory_id)
        .where(later.c.id > sa.func.coalesce(last, 0))
        .scalar_subquery()
    )
    return sa.select(touched.c.memory_id, first.label("entry_id")).subquery("first_after")


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


@compiles(_HistoryValue, "postgresql")
def _history_value_postgres(element: _HistoryValue, compiler: Any, **more: Any) -> str:
    entry, name, row = (compiler.process(each, **more) for each in element.clauses)
    text = f"(CAST({entry} AS jsonb) ->> {name})"
    kept = _cast_to_column(text, element.type)
    if not element.nullable:
        return f"coalesce({kept}, {row})"
    return f"CASE WHEN CAST({entry} AS jsonb) -> {name} IS NULL THEN {row} ELSE {kept} END"


@compiles(_PerDialect)
def _per_dialect(element: _PerDialect, compiler: Any, **more: Any) -> str:
    sqlite, postgres = element.clauses
    return str(compiler.process(sqlite if compiler.dialect.name == "sqlite" else postgres, **more))


def _cast_to_column(text: str, kind: Any) -> str:
    """Write a field of JSON as its column is kept; a text compares as the column beside it."""
    match kind:
        case sa.Float():
            return f"CAST({text} AS double precision)"
        case sa.Integer():
            return f"CAST({text} AS bigint)"
        case sa.types.TypeDecorator() if isinstance(kind.impl_instance, sa.Integer):
            return f"CAST(CAST({text} AS boolean) AS integer)"
    return text
