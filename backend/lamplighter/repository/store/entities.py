"""The table of a declared entity, and how its rows become values."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from lamplighter.domain.fields import DeclaredField, declared_fields
from lamplighter.repository.store.dialect import NUMBER, Flag, Json, UTCDateTime, metadata

T = TypeVar("T")

TYPES: Final[Mapping[type[Any], Any]] = {
    bool: Flag,
    int: NUMBER,
    float: sa.Double,
    datetime: UTCDateTime,
    tuple: Json,
    Mapping: Json,
}
_PARENTS: Final = {
    "session_id": "sessions.id",
    "parent_id": "sessions.id",
    "child_id": "sessions.id",
    "use_id": "cooldowns.id",
    "replaces": "approvals.id",
    "request_id": "requests.id",
}
"""What the columns of these names refer to, in every table."""


def table(
    name: str,
    entity: type[Any],
    *more: sa.Column[Any],
    types: Mapping[type[Any], Any],
    keys: Collection[str],
) -> sa.Table:
    """Return the table of an entity; `more` are columns that its values do not hold."""
    stored = [each for each in declared_fields(entity).values() if each.declared.stored]
    return sa.Table(name, metadata, *(_column(each, types, keys) for each in stored), *more)


def reference_index(name: str, column: sa.Column[Any]) -> None:
    """Declare the index by which a row is removed that a few rows of the column's table name."""
    some = column.is_not(None)
    sa.Index(name, column, sqlite_where=some, postgresql_where=some)


def reader(entity: type[T]) -> Callable[[Any], T]:
    """Return what makes a value of a row; other columns of the row are left out."""
    stored = [each for each in declared_fields(entity).values() if each.declared.stored]
    columns = [(each.name, each.column) for each in stored]
    converted: list[tuple[str, Callable[[Any], Any]]] = [
        (each.name, each.choices or tuple)
        for each in stored
        if each.choices or each.value_type is tuple
    ]

    def read(row: Any) -> T:
        values = {name: row[column] for name, column in columns}
        for name, convert in converted:
            if values[name] is not None:
                values[name] = convert(values[name])
        return entity(**values)

    return read


def _column(
    field: DeclaredField, types: Mapping[type[Any], Any], keys: Collection[str]
) -> sa.Column[Any]:
    parent = _PARENTS.get(field.name)
    return sa.Column(
        field.column,
        types.get(field.value_type, sa.Text),
        *((sa.ForeignKey(parent),) if parent else ()),
        primary_key=field.name in keys,
        nullable=field.nullable,
    )
