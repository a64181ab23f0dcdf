"""The fields of a JSON row, each read as its type; errors name the field."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import is_utf8

E = TypeVar("E", bound=StrEnum)


@dataclass(slots=True)
class JsonFields:
    """Reads a row; `check` raises Invalid with every field that was wrong."""

    values: Mapping[str, Any]
    wrong: list[InvalidField] = field(default_factory=list)

    @classmethod
    def of(cls, value: Any) -> "JsonFields":
        """Return the fields of a row; raises Invalid for other types.

        Half of a surrogate pair, which no database stores, is replaced: programs cut texts inside
        of an emoji.
        """
        if not isinstance(value, dict):
            raise Invalid(InvalidField("row", "is not a JSON object"))
        text = json.dumps(value, ensure_ascii=False)
        if not is_utf8(text):
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            return cls(json.loads(whole))
        return cls(value)

    def text(self, name: str, otherwise: str = "", *, needed: bool = False) -> str:
        """Return a text; `otherwise` for null or a missing field."""
        value = self.values.get(name)
        if value is None or (needed and value == ""):
            if needed:
                self.wrong.append(InvalidField(name, "is missing"))
            return otherwise
        if not isinstance(value, str):
            self.wrong.append(InvalidField(name, "is not text"))
            return otherwise
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; a single text is split at its commas."""
        value = self.values.get(name)
        if isinstance(value, str):
            value = [each.strip() for each in value.split(",")]
        if value is None:
            return ()
        if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
            self.wrong.append(InvalidField(name, "is not a list of texts"))
            return ()
        return tuple(each for each in value if each)

    def object(self, name: str) -> dict[str, Any]:
        """Return a JSON object; an empty one for null or a missing field."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong.append(InvalidField(name, "is not a JSON object"))
            return {}
        return value

    def moment(self, name: str, *, needed: bool = False) -> datetime | None:
        """Return a moment; one without a zone is UTC."""
        text = self.text(name, needed=needed)
        if not text:
            return None
        try:
            read = datetime.fromisoformat(text)
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        except (ValueError, OverflowError):
            self.wrong.append(InvalidField(name, f"is not a time: {text[:40]!r}"))
            return None

    def count(self, name: str, least: int = 1) -> int:
        """Return a whole number of at least `least`, which is also the default."""
        value = self.values.get(name, least)
        if value is None:
            return least
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**53:
            self.wrong.append(InvalidField(name, f"is not a whole number of at least {least}"))
            return least
        return value

    def share(self, name: str) -> float:
        """Return a number from 0 to 1."""
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.wrong.append(InvalidField(name, "is not a number from 0 to 1"))
            return 0.0
        return float(value)

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """Return yes or no."""
        value = self.values.get(name, otherwise)
        if not isinstance(value, bool):
            self.wrong.append(InvalidField(name, "must be true or false"))
            return otherwise
        return value

    def word(self, name: str, enumeration: type[E], otherwise: E) -> E:
        """Return one of the allowed words."""
        value = self.values.get(name, otherwise)
        if value not in list(enumeration):
            self.wrong.append(InvalidField(name, f"is not one of {', '.join(enumeration)}"))
            return otherwise
        return enumeration(value)

    def check(self) -> None:
        """Raise Invalid if any field was wrong."""
        if self.wrong:
            raise Invalid(*self.wrong)
