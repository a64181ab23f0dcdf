"""Keyset pages: a page continues after the last row, despite concurrent inserts and deletes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import Stamp, UTCDateTime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key:
    """One column of an order, and whether it runs downward."""

    column: sa.ColumnElement[Any]
    descending: bool = False

    def ordered(self) -> sa.ColumnElement[Any]:
        """Return the column as ORDER BY takes it."""
        return self.column.desc() if self.descending else self.column.asc()

    def accepts(self, value: Any) -> bool:
        """Whether the column can hold such a value."""
        match self.column.type:
            case UTCDateTime():
                return isinstance(value, datetime)
            case Stamp():
                return isinstance(value, str) and value[:4].isdecimal()
            case sa.Integer():
                return isinstance(value, int)
            case sa.Float():
                return isinstance(value, int | float)
        return isinstance(value, str)

    def beyond(self, value: Any) -> sa.ColumnElement[bool]:
        """Return what is true of rows after `value`."""
        found: sa.ColumnElement[bool]
        found = self.column < value if self.descending else self.column > value
        return found


def after(keys: Sequence[Key], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Return what is true of the rows behind the one with these values in this order.

    Raises Invalid for values of another order.
    """
    fits = len(keys) == len(values) and all(map(Key.accepts, keys, values))
    if not fits:
        raise Invalid(InvalidField("cursor", "is not a valid cursor for this list"))
    alternatives = [
        sa.and_(
            *(key.column == value for key, value in zip(keys[:at], values[:at], strict=True)),
            keys[at].beyond(values[at]),
        )
        for at in range(len(keys))
    ]
    return sa.or_(*alternatives)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and the position to go on from when there are more."""

    items: list[T]
    position: list[Any] | None = None


async def newest_first(
    db: Database,
    query: sa.Select[Any],
    number: sa.Column[Any],
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[Any]:
    """Return one page of a query's rows, the highest `number` first."""
    if position is not None:
        query = query.where(after([Key(number, descending=True)], position))
    rows = await db.fetch_all(query.order_by(number.desc()).limit(limit + 1))
    behind = [rows[limit - 1][number.name]] if len(rows) > limit else None
    return Page(list(rows[:limit]), behind)
