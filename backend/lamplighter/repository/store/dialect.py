"""Differences between the two databases in SQL, for statements over many rows."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, UserDefinedType

from lamplighter.domain.text import format_exact

T = TypeVar("T")

metadata: Final = sa.MetaData()
# SQLite stores 64-bit counts as INTEGER and compares text by code points; PostgreSQL is set
# to do the same, independent of the locale of its server.
NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


class Stored(TypeDecorator[T]):
    """A value in its stored form; a type that has another form in Python overrides `read`."""

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any]:
        """Return `read` itself: SQLAlchemy's own processor adds two function calls."""
        return self.read

    @staticmethod
    def read(value: Any) -> Any:
        """Convert a stored value to its Python form."""
        return value


class UTCDateTime(Stored[datetime]):
    """An aware UTC moment, stored as `YYYY-MM-DDTHH:MM:SS.ffffffZ`: text that sorts by time."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> str | None:
        """Write a moment; a moment without a time zone is an error in our code."""
        return None if value is None else stamp(value)

    @staticmethod
    def read(value: Any) -> Any:
        """Read a moment back."""
        return None if value is None else moment(value)


class LenientMoment(UTCDateTime):
    """A moment in columns that people edit: invalid values are returned unchanged."""

    cache_ok = True

    @staticmethod
    def read(value: Any) -> Any:
        """Read a moment back."""
        try:
            return None if value is None else moment(value)
        except (ValueError, TypeError, OverflowError):
            return value


class PostgresType(UserDefinedType[Any]):
    """A type that only PostgreSQL has, by name, because its dialect takes long to import."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the name of the type in SQL."""
        return self.name


class Stamp(TypeDecorator[str]):
    """A moment as the stored text, for paging: rows written outside the app may differ."""

    impl = sa.Text
    cache_ok = True


class Json(Stored[Any]):
    """A value stored as JSON text."""

    impl = sa.Text
    cache_ok = True

    written = staticmethod(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode)
    """Writes a value as such a column holds it."""

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """Write a value; None is NULL."""
        return None if value is None else self.written(value)

    @staticmethod
    def read(value: Any) -> Any:
        """Read a value back."""
        if value == "{}":
            return {}
        return [] if value == "[]" else None if value is None else json.loads(value)


class LenientJson(Json):
    """JSON in columns that people edit: invalid values are returned unchanged."""

    cache_ok = True

    @staticmethod
    def read(value: Any) -> Any:
        """Read a value back."""
        try:
            return Json.read(value)
        except (ValueError, TypeError, RecursionError):
            return value


class Flag(Stored[bool]):
    """A boolean, stored as 1 or 0 and compared as a number on both databases."""

    impl = NUMBER
    cache_ok = True

    def process_bind_param(self, value: bool | None, dialect: Any) -> int | None:
        """Write a flag."""
        return None if value is None else int(value)

    @staticmethod
    def read(value: Any) -> Any:
        """Read a flag back."""
        return None if value is None else bool(value)


def distinct_values(column: sa.Column[str]) -> sa.Select[Any]:
    """Return the distinct values of a column that begins an index, in order, as `value`.

    Each takes one lookup in the index, however many rows have the value.
    """
    found = sa.select(sa.func.min(column).label("value")).cte("found", recursive=True)
    following = sa.select(sa.func.min(column)).where(column > found.c.value).scalar_subquery()
    found = found.union_all(sa.select(following).where(found.c.value.is_not(None)))
    return sa.select(found.c.value).where(found.c.value.is_not(None))


def stamp(at: datetime) -> str:
    """Format a moment in the one text form that is used everywhere."""
    if at.tzinfo is None:
        raise ValueError("a moment without a time zone")
    return format_exact(at)


def moment(text: str) -> datetime:
    """Parse the stored text form; the fraction and the zone are optional."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is UTC:
        return read
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS = 86_400, 3_600, 60


class TwoForms(FunctionElement[Any]):
    """An expression that each database writes in its own way, from the same operands."""

    def __init_subclass__(cls, **more: Any) -> None:
        cls.inherit_cache = cls.__dict__.get("inherit_cache", True)
        super().__init_subclass__(**more)

    _sqlite: Callable[..., Any]
    """Returns the expression for SQLite."""

    _postgres: Callable[..., Any]
    """Returns the expression for PostgreSQL."""


@compiles(TwoForms, "sqlite")
def _compile_sqlite(element: TwoForms, compiler: Any, **how: Any) -> str:
    return str(compiler.process(element._sqlite(*element.clauses).self_group(), **how))


@compiles(TwoForms, "postgresql")
def _compile_postgres(element: TwoForms, compiler: Any, **how: Any) -> str:
    return str(compiler.process(element._postgres(*element.clauses).self_group(), **how))


class InIdList(TwoForms):
    """Whether an ID is in a JSON list: one parameter for any number of IDs."""

    type = NUMBER  # a Boolean would compile to `= 1`, which no index supports

    def _sqlite(self, column: Any, given: Any) -> Any:
        return column.in_(sa.select(sa.column("value")).select_from(sa.func.json_each(given)))

    def _postgres(self, column: Any, given: Any) -> Any:
        """With an array, PostgreSQL uses the index even without statistics of the table."""
        return column == sa.any_(_id_array(given))


class InTextList(InIdList):
    """Whether a text is in a JSON list: one parameter, however many texts there are."""

    def _postgres(self, column: Any, given: Any) -> Any:
        return column.in_(sa.select(sa.func.json_array_elements_text(sa.cast(given, sa.JSON))))


class AmongIds(InIdList):
    """The same as `InIdList`, for use beside another condition that an index answers.

    With that index, PostgreSQL would read an array again for each row.
    """

    def _postgres(self, column: Any, given: Any) -> Any:
        return column.in_(sa.select(sa.func.unnest(_id_array(given))))


def _id_array(given: Any) -> Any:
    return sa.cast(sa.func.translate(given, _text("[]"), _text("{}")), sa.ARRAY(sa.BigInteger))


class JsonObject(TwoForms):
    """A JSON object of names and values, as text."""

    type = TEXT

    def _sqlite(self, *pairs: Any) -> Any:
        return sa.func.json_object(*pairs)

    def _postgres(self, *pairs: Any) -> Any:
        return sa.cast(sa.func.json_build_object(*pairs), sa.Text)


class JsonRows(TwoForms):
    """The rows of a group as a JSON list of objects, each with some columns by name, as text."""

    type = TEXT

    def _sqlite(self, *columns: Any) -> Any:
        return sa.func.json_group_array(sa.func.json_object(*_named(columns)))

    def _postgres(self, *columns: Any) -> Any:
        return sa.cast(sa.func.json_agg(sa.func.json_build_object(*_named(columns))), sa.Text)


def _named(columns: Iterable[Any]) -> list[Any]:
    return [each for column in columns for each in (_text(column.name), column)]


class JsonFlag(TwoForms):
    """A flag in its JSON form."""

    type = sa.Boolean()

    def _sqlite(self, flag: Any) -> Any:
        return sa.func.json(sa.case((flag == _number(1), _text("true")), else_=_text("false")))

    def _postgres(self, flag: Any) -> Any:
        return flag == _number(1)


class IsBlob(TwoForms):
    """Whether a text column holds bytes, which SQLite accepts, but not in JSON."""

    type = sa.Boolean()

    def _sqlite(self, column: Any) -> Any:
        return sa.func.typeof(column) == _text("blob")

    def _postgres(self, column: Any) -> Any:
        return sa.literal_column("false")


class Seconds(TwoForms):
    """The whole seconds since 1970 of a moment in the stored text form; NULL for an invalid day."""

    type = NUMBER

    def _sqlite(self, moment: Any) -> Any:
        return sa.func.unixepoch(sa.func.substr(moment, _number(1), _number(19)))

    def _postgres(self, moment: Any) -> Any:
        """Compute the seconds without parsing a date, because an invalid date would be an error."""

        def part(at: int, size: int) -> Any:
            return sa.cast(sa.func.substr(moment, _number(at), _number(size)), sa.Integer)

        first = sa.func.make_date(part(1, 4), part(6, 2), _number(1))
        days = first - sa.literal_column("DATE '1970-01-01'") + part(9, 2) - _number(1)
        seconds = (
            sa.cast(sa.type_coerce(days, sa.Integer), sa.BigInteger) * _number(DAY_SECONDS)
            + part(12, 2) * _number(HOUR_SECONDS)
            + part(15, 2) * _number(MINUTE_SECONDS)
            + part(18, 2)
        )
        form = _text("^[12][0-9]{3}-(0[1-9]|1[0-2])-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
        return sa.case((moment.regexp_match(form), seconds))


class OnSqlite(TwoForms):
    """A condition on SQLite, another on PostgreSQL; typed as a number to avoid a comparison."""

    name = "on_sqlite"
    type = NUMBER

    def __init__(self, condition: sa.ColumnElement[bool], other: sa.ColumnElement[bool]) -> None:
        super().__init__(condition, other)

    def _sqlite(self, condition: Any, _: Any) -> Any:
        return Grouping(condition)

    def _postgres(self, _: Any, other: Any) -> Any:
        return Grouping(other)


def text_contains(column: Any, text: str, *, often: bool = False) -> OnSqlite:
    """Return the condition that a text contains another, ignoring case; `often` if most do.

    LIKE of SQLite ignores the case of ASCII letters by itself; `icontains` would copy each text. On
    PostgreSQL ILIKE folds the case of its pattern for each text, and takes a third longer; a copy
    in lower case is needed only for a pattern with letters, if the text does not contain it as
    written.
    """
    pattern = text
    for each in "/%_":
        pattern = pattern.replace(each, f"/{each}")
    like = column.like(sa.literal(f"%{pattern}%", sa.Text), escape="/")
    word = sa.literal(text, sa.Text)
    written = sa.func.strpos(column, word) > _number(0)
    if text.lower() == text.upper():
        return OnSqlite(like, written)
    folded = sa.func.strpos(sa.func.lower(column), sa.func.lower(word)) > _number(0)
    return OnSqlite(like, sa.or_(written, folded) if often else folded)


class IdList(TwoForms):
    """The IDs of many rows as one value, which `EachId` reads."""

    type = sa.types.NULLTYPE

    def _sqlite(self, number: Any) -> Any:
        return sa.func.json_group_array(number)

    def _postgres(self, number: Any) -> Any:
        return sa.func.array_agg(number)


class EachId(TwoForms):
    """The IDs of an `IdList`, each as a row."""

    type = NUMBER

    def _sqlite(self, ids: Any) -> Any:
        return sa.func.json_each(ids)

    def _postgres(self, ids: Any) -> Any:
        return sa.func.unnest(ids)


class EachText(TwoForms):
    """The texts of a JSON list, each as a row."""

    type = TEXT

    def _sqlite(self, given: Any) -> Any:
        return sa.func.json_each(given)

    def _postgres(self, given: Any) -> Any:
        return sa.func.json_array_elements_text(sa.cast(given, sa.JSON))


class JsonValue(TwoForms):
    """One value of a JSON object, of type `kind`; a flag as 1 or 0."""

    inherit_cache = False

    def __init__(self, document: Any, name: str, kind: Any, *, flag: bool = False) -> None:
        super().__init__(document)
        self.member, self.type, self.flag = name, kind, flag

    def _sqlite(self, document: Any) -> Any:
        return sa.func.json_extract(document, _text(f"$.{self.member}"))

    def _postgres(self, document: Any) -> Any:
        value: Any = sa.cast(document, sa.JSON).op("->>")(_text(self.member))
        if self.flag:
            value = sa.cast(sa.cast(value, sa.Boolean), sa.Integer)
        return sa.cast(value, self.type)


def _text(words: str) -> sa.ColumnElement[str]:
    return sa.literal_column(f"'{words}'", sa.Text)


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer)
