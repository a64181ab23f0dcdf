"""A JSON document in pieces: the same values, wherever it is split."""

import json
from typing import Any

import pytest

from lamplighter.formats.json_items import MAX_ITEM_CHARS, JsonItem, JsonItemError, JsonItemReader

DOCUMENT: dict[str, Any] = {
    "version": "0.1.0",
    "count": 1234567,
    "none": None,
    "empty": [],
    "sessions": [{"id": "a", "tags": ["x", "]"]}, {"id": 'q"\\'}],
    "more": {"a": [1, 2]},
    "numbers": [12, 345, -6.5e3],
    "observations": [{"content": "ö, \n ] } [ {"}, "text", None],
}
FOUND = [
    *(JsonItem(name, None, DOCUMENT[name]) for name in ("version", "count", "none")),
    *(JsonItem("sessions", at, value) for at, value in enumerate(DOCUMENT["sessions"], 1)),
    JsonItem("more", None, {"a": [1, 2]}),
    *(JsonItem("numbers", at, value) for at, value in enumerate(DOCUMENT["numbers"], 1)),
    *(JsonItem("observations", at, value) for at, value in enumerate(DOCUMENT["observations"], 1)),
]


def read(text: str, size: int) -> list[JsonItem]:
    items = JsonItemReader()
    found: list[JsonItem] = []
    for at in range(0, len(text), size):
        found += items.feed(text[at : at + size])
    return [*found, *items.close()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_in_pieces_of_any_size_has_the_same_values(
    size: int, indent: int | None
) -> None:
    assert read(json.dumps(DOCUMENT, indent=indent, ensure_ascii=False), size) == FOUND


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", '{"a": [1, 2', '{"a": [1 x]}', "{", '{"a" 1', "{} {}", '{"a": [' + "[" * 9_000],
)
def test_an_invalid_document_is_reported_with_its_position(text: str, size: int) -> None:
    with pytest.raises(JsonItemError, match=r"character [0-9,]+: "):
        read(text, size)


def test_items_before_an_error_are_returned() -> None:
    items = JsonItemReader()
    found = list(items.feed('{"a": [1, {"b": 2}, nothing'))
    with pytest.raises(JsonItemError):
        list(items.close())
    assert [each.value for each in found] == [1, {"b": 2}]


def test_a_value_over_the_size_limit_is_rejected() -> None:
    items = JsonItemReader()
    assert list(items.feed('{"a": ["' + "x" * (MAX_ITEM_CHARS - 100))) == []
    with pytest.raises(JsonItemError, match="exceeds the size limit"):
        list(items.feed("x" * 200))
