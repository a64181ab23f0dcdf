"""The items of a JSON document, one at a time, however large the document is.

Text is fed in, complete items come out; no I/O.
"""

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

MAX_ITEM_CHARS: Final = 4_000_000
_BLANK: Final = " \t\r\n"
_OF_NUMBERS: Final = "0123456789.eE+-"


class JsonItemError(ValueError):
    """The document is invalid; the rest after this position cannot be read."""


@dataclass(frozen=True, slots=True)
class JsonItem:
    """A value of the document: `name` is its key, `index` its place in a list, from 1."""

    name: str
    index: int | None
    value: Any


@dataclass(slots=True)
class JsonItemReader:
    """Parses the text of a JSON object in pieces into its values, those of lists one by one.

    `names` are the keys that were read up to now.
    """

    names: set[str] = field(default_factory=set)
    _text: str = ""
    _at: int = 0
    _before: int = 0
    _name: str | None = None
    _index: int | None = None
    _begun: bool = False
    _ended: bool = False
    _whole: bool = False
    _decoder: json.JSONDecoder = field(default_factory=json.JSONDecoder)

    def feed(self, text: str) -> Iterator[JsonItem]:
        """Add a piece and return the items that are complete; raises NotJson."""
        self._text = self._text[self._at :] + text
        self._before += self._at
        self._at = 0
        yield from self._read()
        if len(self._text) - self._at > MAX_ITEM_CHARS:
            raise self._wrong("is not JSON, or exceeds the size limit of a row")

    def close(self) -> Iterator[JsonItem]:
        """End the text, and return the remaining items; raises NotJson."""
        self._whole = True
        yield from self._read()
        if not self._ended:
            raise self._wrong("is incomplete")
        if self._sign() is not None:
            raise self._wrong("has content after its end")

    def _read(self) -> Iterator[JsonItem]:
        while not self._ended and (sign := self._sign()) is not None:
            if not self._begun:
                if sign != "{":
                    raise self._wrong("is not a JSON object")
                self._begun, self._at = True, self._at + 1
            elif self._index is not None:
                if sign in ",]":
                    self._at += 1
                    self._index = None if sign == "]" else self._index
                    self._name = None if sign == "]" else self._name
                elif (found := self._value()) is None:
                    return
                else:
                    self._index += 1
                    yield JsonItem(self._name or "", self._index, found[0])
            elif not (yield from self._pair(sign)):
                return

    def _pair(self, sign: str) -> Generator[JsonItem, None, bool]:
        """Read a part of `"name": value`; returns False when more text is needed."""
        if self._name is None:
            if sign in ",}":
                self._at += 1
                self._ended = sign == "}"
                return True
            value = self._value()
            if value is None:
                return False
            self._name = str(value[0])
            self.names.add(self._name)
        elif sign == ":":
            self._at += 1
        elif sign == "[":
            self._index, self._at = 0, self._at + 1
        else:
            value = self._value()
            if value is None:
                return False
            name, self._name = self._name, None
            yield JsonItem(name, None, value[0])
        return True

    def _sign(self) -> str | None:
        """Return the next character that is not blank, without taking it."""
        while self._at < len(self._text) and self._text[self._at] in _BLANK:
            self._at += 1
        return self._text[self._at] if self._at < len(self._text) else None

    def _value(self) -> tuple[Any] | None:
        """Parse a value; None if its end has not arrived yet."""
        try:
            value, end = self._decoder.raw_decode(self._text, self._at)
        except RecursionError as error:
            raise self._wrong("is nested too deeply") from error
        except ValueError as error:
            if self._whole:
                raise self._wrong("is not JSON") from error
            return None
        if not self._whole and isinstance(value, int | float):
            behind = self._text[end : end + 1]
            if not behind or behind in _OF_NUMBERS:
                return None  # the number may continue in the next chunk
        self._at = end
        return (value,)

    def _wrong(self, what: str) -> JsonItemError:
        return JsonItemError(f"character {self._before + self._at + 1:,}: {what}")
