"""Memories as they stood at an earlier moment: the rows, less what their history has since done.

Most rows have not changed since: those are read as they are, by their indexes. The others come
out of what the first entry of their history after the moment says of them before it.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from lamplighter.domain.memory import KINDS, Kind
from lamplighter.repository.tables import history, memories

KEPT: Final = (
    *("observation", "confidence", "active", "category", "service", "inactive_reason", "pinned"),
    *("trust", "updated_at", "decayed_weeks"),
)
"""What an entry of the history keeps of a memory; entries of old keep less."""


class _Kept(FunctionElement[Any]):
    """A field of what an entry keeps, or (an entry of old) the one of the row as it is now."""

    name = "kept"
    inherit_cache = True

    def __init__(self, entry: sa.ColumnElement[Any], row: sa.Column[Any]) -> None:
        self.type = row.type
        super().__init__(entry, sa.literal_column(f"'{row.name}'"), row)


def parts(at: datetime | None) -> Sequence[sa.FromClause]:
    """Return what to select memories from: none is in two of them. None is as they are now."""
    if at is None:
        return [memories]
    later = _later(at)
    return [_untouched(later, at), _as_before(later, at)]


def _later(at: datetime) -> sa.Subquery:
    """Return the first entry of each memory after all that happened until a moment.

    The order of entries is that of their numbers: a clock may have been set back meanwhile.
    """
    until = history.alias("until")
    followed = (
        sa.select(1)
        .where(until.c.memory_id == history.c.memory_id)
        .where(until.c.id > history.c.id)
        .where(until.c.at <= at)
        .exists()
    )
    return (
        sa.select(history.c.memory_id, sa.func.min(history.c.id).label("entry_id"))
        .where(history.c.at > at)
        .where(~followed)
        .group_by(history.c.memory_id)
        .subquery("later")
    )


def _untouched(later: sa.Subquery, at: datetime) -> sa.FromClause:
    return (
        sa.select(memories)
        .select_from(memories.outerjoin(later, later.c.memory_id == memories.c.id))
        .where(later.c.memory_id.is_(None))
        .where(memories.c.created_at <= at)
        .subquery("untouched")
    )


def _as_before(later: sa.Subquery, at: datetime) -> sa.FromClause:
    first = history.alias("first_later")
    was: dict[str, sa.ColumnElement[Any]] = {
        name: _Kept(first.c.before, memories.c[name]) for name in KEPT
    }
    was["inactive_reason"] = _typed(
        sa.case((was["active"] == 1, None), else_=was["inactive_reason"]), "inactive_reason"
    )
    was["kind"] = _typed(
        sa.case(
            (was["category"] == memories.c.category, memories.c.kind),
            *((was["category"] == category, kind) for category, kind in KINDS.items()),
            else_=Kind.SEMANTIC,
        ),
        "kind",
    )
    was["version"] = first.c.version - 1
    columns = [was.get(column.name, column).label(column.name) for column in memories.c]
    return (
        sa.select(*columns)
        .select_from(
            later.join(memories, memories.c.id == later.c.memory_id).join(
                first, first.c.id == later.c.entry_id
            )
        )
        .where(first.c.before.is_not(None))
        .where(memories.c.created_at <= at)
        .subquery("as_before")
    )


def _typed(value: Any, name: str) -> Any:
    return sa.type_coerce(value, memories.c[name].type)


@compiles(_Kept, "sqlite")
def _kept_sqlite(element: _Kept, compiler: Any, **more: Any) -> str:
    entry, name, row = (compiler.process(each, **more) for each in element.clauses)
    path = f"'$.{name[1:-1]}'"
    return (
        f"CASE WHEN json_type({entry}, {path}) IS NULL THEN {row}"
        f" ELSE json_extract({entry}, {path}) END"
    )


@compiles(_Kept, "postgresql")
def _kept_postgres(element: _Kept, compiler: Any, **more: Any) -> str:
    entry, name, row = (compiler.process(each, **more) for each in element.clauses)
    text = f"(CAST({entry} AS jsonb) ->> {name})"
    return (
        f"CASE WHEN CAST({entry} AS jsonb) -> {name} IS NULL THEN {row}"
        f" ELSE {_as_kept(text, element.type)} END"
    )


def _as_kept(text: str, kind: Any) -> str:
    """Write a field of JSON as the type of its column is kept; texts compare by code points."""
    match kind:
        case sa.Float():
            return f"CAST({text} AS double precision)"
        case sa.Integer():
            return f"CAST({text} AS bigint)"
        case sa.types.TypeDecorator() if isinstance(kind.impl_instance, sa.Integer):
            return f"CAST(CAST({text} AS boolean) AS bigint)"
    return f'{text} COLLATE "C"'
