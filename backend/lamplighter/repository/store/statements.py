"""Statements that are built once, for frequent use, and pages of their rows.

Building and compiling a Core statement costs more than running it. A `Statement` is built when its
module is imported and compiled once per dialect; calling it with values returns a query for
`databases`.

A page continues after the last row, despite concurrent inserts and deletes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql import ClauseElement
from sqlalchemy.util import LRUCache

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.repository.store.dialect import Stamp, UTCDateTime

if TYPE_CHECKING:
    from lamplighter.domain.change import ChangeOp
    from lamplighter.repository.store.database import Database

T = TypeVar("T")
V = TypeVar("V")
Processor = Callable[[Any], Any]
Columns = tuple[tuple[str, ...], tuple[tuple[str, Processor], ...]]
UNNAMED: Final[Columns] = (), ()
Condition = sa.ColumnElement[bool] | sa.TextClause


@dataclass(slots=True)
class CompiledStatement:
    """A statement compiled for one database: its SQL, its arguments and its columns."""

    sql: str
    columns: Columns | None
    _parameters: tuple[tuple[str, Processor | None], ...]
    _fixed: Mapping[str, Any]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the values in the order of the statement's parameters."""
        given = {**self._fixed, **values} if self._fixed else values
        return [work(given[name]) if work else given[name] for name, work in self._parameters]


@dataclass(slots=True)
class Statement:
    """A statement whose values are passed when it runs.

    `long` means that it touches many rows, and must not block other work. `tuples` leaves its rows
    as the driver returns them, for columns that need no conversion.
    """

    statement: ClauseElement
    names: Sequence[str] | None = None
    long: bool = False
    tuples: bool = False
    _compiled: dict[str, CompiledStatement] = field(default_factory=dict)

    def __call__(self, **values: Any) -> Any:
        """Return the statement with its values."""
        return BoundStatement(self, values)

    values = __call__
    """The interface of an SQLAlchemy statement: `run_many` runs it for many rows of values."""

    def compiled(self, dialect: Any) -> CompiledStatement:
        """Return the compiled statement, compiling it at the first call."""
        found = self._compiled.get(dialect.name)
        if found is None:
            found = self._compiled[dialect.name] = self._compile(dialect)
        return found

    def _compile(self, dialect: Any) -> CompiledStatement:
        compiled: Any = self.statement.compile(
            dialect=dialect,
            column_keys=None if self.names is None else list(self.names),
            compile_kwargs={"render_postcompile": True},
        )
        processors = compiled._bind_processors
        parameters = tuple((name, processors.get(name)) for name in compiled.positiontup or ())
        fixed = {} if self.names else dict(compiled.params)
        columns = UNNAMED if self.tuples else columns_of(compiled, dialect)
        return CompiledStatement(compiled.string, columns, parameters, fixed)


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A statement with the values of one run."""

    statement: Statement
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fetch(Generic[T]):
    """Queries and the conversion of their rows; several run in one turn of a thread."""

    queries: Sequence[Any]
    read: Callable[[Sequence[Sequence[Any]]], T]


def fetch_list(query: Any, read: Callable[[Any], T]) -> Fetch[list[T]]:
    """Build the fetch of the rows of one query, each converted to a value."""
    return Fetch([query], lambda found: [read(row) for row in found[0]])


def fetch_optional(query: Any, read: Callable[[Any], T]) -> Fetch[T | None]:
    """Build the fetch of the first row of one query, converted to a value; None without rows."""
    return Fetch([query], lambda found: read(found[0][0]) if found[0] else None)


def prepare_insert(
    table: sa.Table, *names: str, returning: sa.Table | sa.Column[Any] | None = None
) -> Statement:
    """Prepare an insert of these columns; `returning` gives the row or a column of it back."""
    statement: Any = sa.insert(table)
    return Statement(statement if returning is None else statement.returning(returning), names)


def prepare_upsert(table: sa.Table) -> Statement:
    """Prepare an insert of whole rows; a row with the same primary key is replaced.

    Both dialects of SQLAlchemy compile this insert, because each has its ON CONFLICT clause.
    """
    from sqlalchemy.dialects.postgresql import insert as insert_into  # slow import

    insert = insert_into(table)
    fresh = {each.name: insert.excluded[each.name] for each in table.c if not each.primary_key}
    names = [each.name for each in table.primary_key]
    return Statement(insert.on_conflict_do_update(index_elements=names, set_=fresh), table.c.keys())


def one_of(column: sa.ColumnElement[Any], values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has any of a few values, for a prepared statement.

    SQLAlchemy expands an IN for each run. Both databases treat this the same as an IN.
    """
    return sa.or_(*(column == value for value in values))


def columns_of(compiled: Any, dialect: Any) -> Columns | None:
    """Return the names of a compiled statement's columns, and the conversions of their values."""
    if not compiled._result_columns:
        return None
    names = tuple(column[0] for column in compiled._result_columns)
    processors = (
        (column[0], column[3]._cached_result_processor(dialect, None))
        for column in compiled._result_columns
        if not isinstance(column[3], sa.Float)  # both drivers return a float
    )
    return names, tuple((name, work) for name, work in processors if work is not None)


STATEMENTS_CACHED: Final = 1_000
COLUMNS_KEY: Final = "_lamplighter_columns"

CompiledQuery = tuple[str, Sequence[Any], Columns | None]


class Row(dict[str, Any]):
    """One row, as a mapping of column names to values."""

    @property
    def _mapping(self) -> "Row":
        return self


StatementResult = tuple[list[Row], int]
"""The rows of a statement, and the number of affected rows."""


class Compiler:
    """Compiles SQL Core to the SQL and the arguments of one database."""

    def __init__(self, dialect: Any) -> None:
        self.dialect = dialect
        self.cache: LRUCache[Any, Any] = LRUCache(STATEMENTS_CACHED)

    def __call__(self, query: ClauseElement | BoundStatement) -> CompiledQuery:
        """Return a statement's SQL, its arguments and its columns (None: those that it reports)."""
        if isinstance(query, BoundStatement):
            prepared = query.statement.compiled(self.dialect)
            return prepared.sql, prepared.arguments(query.values), prepared.columns
        compiled: Any  # below: private parts of SQLAlchemy; a test fails when they change
        compiled, extracted = query._compile_w_cache(
            dialect=self.dialect,
            compiled_cache=self.cache,
            column_keys=[],
            for_executemany=False,
            schema_translate_map=None,
        )[:2]
        parameters = compiled.construct_params(extracted_parameters=extracted, escape_names=False)
        sql, positions, processors = (
            compiled.string,
            compiled.positiontup,
            compiled._bind_processors,
        )
        if compiled.post_compile_params or compiled.literal_execute_params:
            expanded = compiled._process_parameters_for_postcompile(parameters)
            sql, positions = expanded.statement, expanded.positiontup
            parameters = {**parameters, **expanded.additional_parameters}
            processors = {**processors, **expanded.processors}
        arguments = [
            processors[name](parameters[name]) if name in processors else parameters[name]
            for name in positions or ()
        ]
        known = compiled.__dict__
        if COLUMNS_KEY not in known:
            known[COLUMNS_KEY] = columns_of(compiled, self.dialect)
        return sql, arguments, known[COLUMNS_KEY]


def value_of(rows: Sequence[Row], column: Any) -> Any:
    """Return one value of the first row, or None."""
    if not rows:
        return None
    return list(rows[0].values())[column] if isinstance(column, int) else rows[0][column]


def rows_of(rows: Sequence[Sequence[Any]], columns: Columns) -> list[Any]:
    """Return rows by the names of their columns, each value converted by its type."""
    names, processors = columns
    if columns is UNNAMED:
        return list(rows)
    found = [Row(zip(names, row, strict=True)) for row in rows]
    for name, work in processors:
        for row in found:
            if row[name] is not None:
                row[name] = work(row[name])
    return found


@dataclass(frozen=True, slots=True)
class Key:
    """One column of an order, and its direction."""

    column: sa.ColumnElement[Any]
    descending: bool = False

    def ordered(self) -> sa.ColumnElement[Any]:
        """Return the column for ORDER BY."""
        return self.column.desc() if self.descending else self.column.asc()

    def accepts(self, value: Any) -> bool:
        """Whether the column can hold a value."""
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
        """Return the condition for rows after `value`."""
        found: sa.ColumnElement[bool]
        found = self.column < value if self.descending else self.column > value
        return found


def after(keys: Sequence[Key], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Return the condition for rows after the row with these values in this order.

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
    """Some rows, and the position from which the next page continues, if there is a next page."""

    items: list[T]
    position: list[Any] | None = None


def equal_to(columns: Any, **values: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that columns have these values; None matches any value."""
    return [columns[name] == value for name, value in values.items() if value is not None]


async def in_order(
    db: "Database",
    query: sa.Select[Any],
    key: Key,
    read: Callable[[Any], T],
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[T]:
    """Return one page of a query's rows, each converted, in the order of a unique column."""
    if position is not None:
        query = query.where(after([key], position))
    rows = await db.fetch_all(query.order_by(key.ordered()).limit(limit + 1))
    behind = [rows[limit - 1][key.column.name]] if len(rows) > limit else None
    return Page([read(row) for row in rows[:limit]], behind)


async def newest_first(
    db: "Database",
    query: sa.Select[Any],
    number: sa.Column[Any],
    read: Callable[[Any], T],
    *,
    limit: int,
    position: Sequence[Any] | None,
) -> Page[T]:
    """Return one page of a query's rows, each converted, the highest `number` first."""
    key = Key(number, descending=True)
    return await in_order(db, query, key, read, limit=limit, position=position)


class Publish(Protocol[V]):
    """A function that records a change of a value of one entity, and returns the value."""

    async def __call__(self, db: "Database", each: V, op: "ChangeOp", *, now: datetime) -> V:
        """Record the change; call it within `writing`, together with the change itself."""


def publisher(entity: str, as_json: Callable[[V], dict[str, Any]]) -> Publish[V]:
    """Return a function that records changes of an entity, each with its current value."""

    async def publish(db: "Database", each: Any, op: "ChangeOp", *, now: datetime) -> Any:
        from lamplighter.repository.store import changes  # not needed by read commands

        row = as_json(each)
        await changes.append(db, entity, each.id, op, now=now, version=each.version, row=row)
        return each

    return publish


_ONE: Final[sa.ColumnElement[Any]] = sa.literal_column("1")


async def has_row(db: "Database", *where: Condition) -> bool:
    """Whether a row of the table of these conditions meets all of them."""
    query: sa.Select[Any] = sa.select(_ONE)
    return await db.fetch_val(query.where(*where).limit(1)) is not None


async def count_by(
    db: "Database", column: sa.ColumnElement[Any], *where: Condition
) -> dict[Any, int]:
    """Return the number of rows that meet all conditions by the value of a column, in its order."""
    query: sa.Select[Any] = sa.select(column.label("key"), sa.func.count().label("count"))
    rows = await db.fetch_all(query.where(*where).group_by(column).order_by(column))
    return {row["key"]: row["count"] for row in rows}


async def values_of(db: "Database", column: sa.ColumnElement[Any], *where: Condition) -> list[Any]:
    """Return the values of a column in the rows that meet all conditions, in their order."""
    query: sa.Select[Any] = sa.select(column.label("value")).where(*where).order_by(column)
    return [row["value"] for row in await db.fetch_all(query)]


async def newest_value(db: "Database", column: sa.Column[V], *where: Condition) -> V | None:
    """Return the value of a column in the newest row that meets all conditions."""
    query: sa.Select[Any] = sa.select(column).where(*where)
    found: V | None = await db.fetch_val(query.order_by(column.table.c.id.desc()).limit(1))
    return found


async def update_rows(db: "Database", table: sa.Table, *where: Condition, **values: Any) -> int:
    """Set columns of the rows that meet all conditions; return the number of rows."""
    return int(await db.execute(sa.update(table).where(*where).values(**values)))


class Rows(Generic[T]):
    """Reads rows of an entity that meet all conditions, in the order of their numbers."""

    def __init__(self, table: sa.Table, read: Callable[[Any], T]) -> None:
        self._table, self.read = table, read

    @cached_property
    def _by_number(self) -> Statement:
        number = sa.bindparam("number", type_=self._table.c.id.type)
        return Statement(sa.select(self._table).where(self._table.c.id == number))

    async def get(self, db: "Database", number: int) -> T | None:
        """Return the row with a number."""
        return await db.fetch_first(self._by_number(number=number), self.read)

    async def one(self, db: "Database", *where: Condition) -> T | None:
        """Return the only row; None if there is none."""
        return await db.fetch_first(sa.select(self._table).where(*where), self.read)

    async def first(self, db: "Database", *where: Condition) -> T | None:
        """Return the oldest row; None if there is none."""
        return next(iter(await self.oldest(db, *where, limit=1)), None)

    async def last(self, db: "Database", *where: Condition) -> T | None:
        """Return the newest row; None if there is none."""
        return next(iter(await self.newest(db, *where, limit=1)), None)

    async def oldest(self, db: "Database", *where: Condition, limit: int | None = None) -> list[T]:
        """Return the rows, oldest first."""
        query = sa.select(self._table).where(*where).order_by(self._table.c.id)
        return await self.fetch(db, query if limit is None else query.limit(limit))

    async def newest(self, db: "Database", *where: Condition, limit: int | None = None) -> list[T]:
        """Return the rows, newest first."""
        query = sa.select(self._table).where(*where).order_by(self._table.c.id.desc())
        return await self.fetch(db, query if limit is None else query.limit(limit))

    async def page(
        self,
        db: "Database",
        *where: Condition,
        limit: int,
        position: Sequence[Any] | None,
    ) -> Page[T]:
        """Return one page of the rows, newest first."""
        query, number = sa.select(self._table).where(*where), self._table.c.id
        return await newest_first(db, query, number, self.read, limit=limit, position=position)

    async def fetch(self, db: "Database", query: Any) -> list[T]:
        """Return the rows of a query or of a statement that returns rows."""
        return [self.read(row) for row in await db.fetch_all(query)]

    async def store(self, db: "Database", **values: Any) -> T:
        """Insert a row, and return it."""
        statement = sa.insert(self._table).values(**values)
        return self.read(await db.fetch_one(statement.returning(self._table)))


class PublishedRows(Rows[T]):
    """Reads and writes rows; each change is published, with the row as it is after it."""

    def __init__(self, table: sa.Table, read: Callable[[Any], T], publish: Publish[T]) -> None:
        super().__init__(table, read)
        self._publish = publish

    async def insert(self, db: "Database", values: Mapping[str, Any], *, now: datetime) -> T:
        """Insert a row; call it within `writing`, as `update`."""
        from lamplighter.domain.change import ChangeOp  # not needed by read commands

        return await self._publish(db, await self.store(db, **values), ChangeOp.CREATED, now=now)

    async def update(
        self,
        db: "Database",
        conditions: Iterable[sa.ColumnElement[bool]],
        values: Mapping[str, Any],
        *,
        now: datetime,
    ) -> list[T]:
        """Change the rows that meet all conditions; return them in the order of their numbers."""
        from lamplighter.domain.change import ChangeOp

        statement = (
            sa.update(self._table)
            .where(*conditions)
            .values(**values, version=self._table.c.version + 1)
            .returning(self._table)
        )
        rows = sorted(await db.fetch_all(statement), key=itemgetter("id"))
        return [await self._publish(db, self.read(row), ChangeOp.UPDATED, now=now) for row in rows]

    async def change(
        self, db: "Database", number: int, values: Mapping[str, Any], *, now: datetime
    ) -> T:
        """Change the row with a number, and return it."""
        [changed] = await self.update(db, [self._table.c.id == number], values, now=now)
        return changed

    async def update_one(
        self,
        db: "Database",
        conditions: Iterable[sa.ColumnElement[bool]],
        values: Mapping[str, Any],
        *,
        now: datetime,
    ) -> T | None:
        """Change the row that meets all conditions; return None if there is none."""
        changed = await self.update(db, conditions, values, now=now)
        return changed[0] if changed else None
