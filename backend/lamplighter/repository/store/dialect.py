"""Differences between the two databases in SQL, for statements over many rows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, UserDefinedType

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
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def moment(text: str) -> datetime:
    """Parse the stored text form; the fraction and the zone are optional."""
    read = datetime.fromisoformat(text)
    if read.tzinfo is UTC:
        return read
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS = 86_400, 3_600, 60


class InIdList(FunctionElement[Any]):
    """Whether an ID is in a JSON list: one parameter for any number of IDs."""

    type = NUMBER  # a Boolean would compile to `= 1`, which no index supports
    inherit_cache = True


class InTextList(FunctionElement[Any]):
    """Whether a text is in a JSON list: one parameter, however many texts there are."""

    type = NUMBER
    inherit_cache = True


class AmongIds(FunctionElement[Any]):
    """The same as `InIdList`, for use beside another condition that an index answers.

    With that index, PostgreSQL would read an array again for each row.
    """

    type = NUMBER
    inherit_cache = True


class JsonObject(FunctionElement[str]):
    """A JSON object of names and values, as text."""

    type = TEXT
    inherit_cache = True


class JsonFlag(FunctionElement[Any]):
    """A flag in its JSON form."""

    type = sa.Boolean()
    inherit_cache = True


class IsBlob(FunctionElement[bool]):
    """Whether a text column holds bytes, which SQLite accepts, but not in JSON."""

    type = sa.Boolean()
    inherit_cache = True


class Seconds(FunctionElement[int]):
    """The whole seconds since 1970 of a moment in the stored text form; NULL for an invalid day."""

    type = NUMBER
    inherit_cache = True


class OnSqlite(FunctionElement[Any]):
    """A condition on SQLite, another on PostgreSQL; typed as a number to avoid a comparison."""

    name = "on_sqlite"
    inherit_cache = True
    type = NUMBER

    def __init__(self, condition: sa.ColumnElement[bool], other: sa.ColumnElement[bool]) -> None:
        super().__init__(condition, other)


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


class IdList(FunctionElement[Any]):
    """The IDs of many rows as one value, which `EachId` reads."""

    type = sa.types.NULLTYPE
    inherit_cache = True


class EachId(FunctionElement[Any]):
    """The IDs of an `IdList`, each as a row."""

    type = NUMBER
    inherit_cache = True


class JsonValue(FunctionElement[Any]):
    """One value of a JSON object, of type `kind`; a flag as 1 or 0."""

    inherit_cache = False

    def __init__(self, document: Any, name: str, kind: Any, *, flag: bool = False) -> None:
        super().__init__(document)
        self.member, self.type, self.flag = name, kind, flag


@compiles(InIdList, "sqlite")
@compiles(InTextList, "sqlite")
@compiles(AmongIds, "sqlite")
def _in_id_list(element: InIdList | InTextList | AmongIds, compiler: Any, **how: Any) -> str:
    column, given = element.clauses
    rows: Any = sa.select(sa.column("value")).select_from(sa.func.json_each(given))
    return _compile_operand(compiler, column.in_(rows), how)


@compiles(InIdList, "postgresql")
def _in_id_array(element: InIdList, compiler: Any, **how: Any) -> str:
    """With an array, PostgreSQL uses the index even without statistics of the table."""
    column, given = element.clauses
    return _compile_operand(compiler, column == sa.any_(_id_array(given)), how)


@compiles(InTextList, "postgresql")
def _in_text_array(element: InTextList, compiler: Any, **how: Any) -> str:
    column, given = element.clauses
    rows: Any = sa.select(sa.func.json_array_elements_text(sa.cast(given, sa.JSON)))
    return _compile_operand(compiler, column.in_(rows), how)


@compiles(AmongIds, "postgresql")
def _among_id_rows(element: AmongIds, compiler: Any, **how: Any) -> str:
    column, given = element.clauses
    rows: Any = sa.select(sa.func.unnest(_id_array(given)))
    return _compile_operand(compiler, column.in_(rows), how)


def _id_array(given: Any) -> Any:
    return sa.cast(sa.func.translate(given, _text("[]"), _text("{}")), sa.ARRAY(sa.BigInteger))


@compiles(OnSqlite, "sqlite")
def _on_sqlite(element: OnSqlite, compiler: Any, **how: Any) -> str:
    condition, _ = element.clauses
    return f"({compiler.process(condition, **how)})"


@compiles(OnSqlite, "postgresql")
def _on_postgres(element: OnSqlite, compiler: Any, **how: Any) -> str:
    _, other = element.clauses
    return f"({compiler.process(other, **how)})"


@compiles(IdList, "sqlite")
def _id_list(element: IdList, compiler: Any, **how: Any) -> str:
    return _compile_operand(compiler, sa.func.json_group_array(*element.clauses), how)


@compiles(IdList, "postgresql")
def _id_list_array(element: IdList, compiler: Any, **how: Any) -> str:
    return _compile_operand(compiler, sa.func.array_agg(*element.clauses), how)


@compiles(EachId, "sqlite")
def _each_id(element: EachId, compiler: Any, **how: Any) -> str:
    return _compile_operand(compiler, sa.func.json_each(*element.clauses), how)


@compiles(EachId, "postgresql")
def _each_id_unnested(element: EachId, compiler: Any, **how: Any) -> str:
    return _compile_operand(compiler, sa.func.unnest(*element.clauses), how)


@compiles(JsonObject, "sqlite")
def _object(element: JsonObject, compiler: Any, **how: Any) -> str:
    return _compile_operand(compiler, sa.func.json_object(*element.clauses), how)


@compiles(JsonObject, "postgresql")
def _object_built(element: JsonObject, compiler: Any, **how: Any) -> str:
    return _compile_operand(
        compiler, sa.cast(sa.func.json_build_object(*element.clauses), sa.Text), how
    )


@compiles(JsonFlag, "sqlite")
def _json_flag(element: JsonFlag, compiler: Any, **how: Any) -> str:
    (flag,) = element.clauses
    word = sa.case((flag == _number(1), _text("true")), else_=_text("false"))
    return _compile_operand(compiler, sa.func.json(word), how)


@compiles(JsonFlag, "postgresql")
def _json_flag_boolean(element: JsonFlag, compiler: Any, **how: Any) -> str:
    (flag,) = element.clauses
    return _compile_operand(compiler, flag == _number(1), how)


@compiles(IsBlob, "sqlite")
def _is_blob(element: IsBlob, compiler: Any, **how: Any) -> str:
    (column,) = element.clauses
    return _compile_operand(compiler, sa.func.typeof(column) == _text("blob"), how)


@compiles(IsBlob, "postgresql")
def _is_never_blob(element: IsBlob, compiler: Any, **how: Any) -> str:
    return "false"


@compiles(Seconds, "sqlite")
def _seconds(element: Seconds, compiler: Any, **how: Any) -> str:
    (moment,) = element.clauses
    return _compile_operand(
        compiler, sa.func.unixepoch(sa.func.substr(moment, _number(1), _number(19))), how
    )


@compiles(Seconds, "postgresql")
def _seconds_counted(element: Seconds, compiler: Any, **how: Any) -> str:
    """Compute the seconds without parsing a date, because an invalid date would be an error."""
    (moment,) = element.clauses

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
    return _compile_operand(compiler, sa.case((moment.regexp_match(form), seconds)), how)


@compiles(JsonValue, "sqlite")
def _json_value(element: JsonValue, compiler: Any, **how: Any) -> str:
    (document,) = element.clauses
    return _compile_operand(
        compiler, sa.func.json_extract(document, _text(f"$.{element.member}")), how
    )


@compiles(JsonValue, "postgresql")
def _json_value_cast(element: JsonValue, compiler: Any, **how: Any) -> str:
    (document,) = element.clauses
    value: Any = sa.cast(document, sa.JSON).op("->>")(_text(element.member))
    if element.flag:
        value = sa.cast(sa.cast(value, sa.Boolean), sa.Integer)
    return _compile_operand(compiler, sa.cast(value, element.type), how)


def _compile_operand(compiler: Any, expression: Any, how: Any) -> str:
    return str(compiler.process(expression.self_group(), **how))


def _text(words: str) -> sa.ColumnElement[str]:
    return sa.literal_column(f"'{words}'", sa.Text)


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer)
