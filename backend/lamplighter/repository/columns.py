"""Column types that read and write the same on both databases."""

import json
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator, UserDefinedType

metadata: Final = sa.MetaData()
TIME_FORM: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
# SQLite counts rows in an INTEGER of 64 bits, and compares text by its code points: so does
# PostgreSQL when it is asked to, whatever language its machine speaks.
NUMBER: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


class UTCDateTime(TypeDecorator[datetime]):
    """An aware UTC moment, kept as `YYYY-MM-DDTHH:MM:SS.ffffffZ`: text that sorts as time."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> str | None:
        """Write a moment; one without a time zone is a mistake of ours."""
        return None if value is None else stamp(value)

    def process_result_value(self, value: str | None, dialect: Any) -> datetime | None:
        """Read a moment back."""
        return None if value is None else moment(value)


class HandMoment(UTCDateTime):
    """A moment where people write too: what is none is given as it stands, for others to judge."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """Read a moment back."""
        try:
            return super().process_result_value(value, dialect)
        except (ValueError, TypeError, OverflowError):
            return value


class Named(UserDefinedType[Any]):
    """A type that only PostgreSQL has, by its name: its whole dialect takes long to load."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """Return the type as SQL has it."""
        return self.name


class Stamp(TypeDecorator[str]):
    """A moment as the text that is stored: to page by, for a row written by hand may differ."""

    impl = sa.Text
    cache_ok = True


class Json(TypeDecorator[Any]):
    """A value kept as JSON text."""

    impl = sa.Text
    cache_ok = True

    @staticmethod
    def written(value: Any) -> str:
        """Write a value as such a column holds it."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """Write a value; None is NULL."""
        return None if value is None else self.written(value)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        """Read a value back."""
        return None if value is None else json.loads(value)


class HandJson(Json):
    """JSON where people write too: what is none is given as it stands."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """Read a value back."""
        try:
            return super().process_result_value(value, dialect)
        except (ValueError, TypeError, RecursionError):
            return value


class Flag(TypeDecorator[bool]):
    """Yes or no, kept as 1 or 0 and compared as a number on both databases."""

    impl = NUMBER
    cache_ok = True

    def process_bind_param(self, value: bool | None, dialect: Any) -> int | None:
        """Write a flag."""
        return None if value is None else int(value)

    def process_result_value(self, value: int | None, dialect: Any) -> bool | None:
        """Read a flag back."""
        return None if value is None else bool(value)


def stamp(at: datetime) -> str:
    """Write a moment in the one text form we use everywhere."""
    if at.tzinfo is None:
        raise ValueError("a moment without a time zone")
    return at.astimezone(UTC).strftime(TIME_FORM).rjust(len("0001-01-01T00:00:00.000000Z"), "0")


def moment(text: str) -> datetime:
    """Read our text form; a row written by hand may leave out the fraction and the zone."""
    read = datetime.fromisoformat(text)
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
