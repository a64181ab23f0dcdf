"""A JSON document in pieces: the same values, wherever it is cut."""

import json
from typing import Any

import pytest

from lamplighter.formats.json_items import MAX_ITEM_CHARS, Item, Items, NotJson

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
    *(Item(name, None, DOCUMENT[name]) for name in ("version", "count", "none")),
    *(Item("sessions", at, value) for at, value in enumerate(DOCUMENT["sessions"], 1)),
    Item("more", None, {"a": [1, 2]}),
    *(Item("numbers", at, value) for at, value in enumerate(DOCUMENT["numbers"], 1)),
    *(Item("observations", at, value) for at, value in enumerate(DOCUMENT["observations"], 1)),
]


def read(text: str, size: int) -> list[Item]:
    items = Items()
    found: list[Item] = []
    for at in range(0, len(text), size):
        found += items.feed(text[at : at + size])
    return [*found, *items.close()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_values_are_the_same_wherever_it_is_cut(size: int, indent: int | None) -> None:
    assert read(json.dumps(DOCUMENT, indent=indent, ensure_ascii=False), size) == FOUND


@pytest.mark.parametrize("size", [1, 1_000])
@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", '{"a": [1, 2', '{"a": [1 x]}', "{", '{"a" 1', "{} {}", '{"a": [' + "[" * 9_000],
)
def test_what_is_no_document_is_said_so_with_its_place(text: str, size: int) -> None:
    with pytest.raises(NotJson, match=r"character [0-9,]+: "):
        read(text, size)


def test_what_stands_before_a_mistake_is_given() -> None:
    items = Items()
    found = list(items.feed('{"a": [1, {"b": 2}, nothing'))
    with pytest.raises(NotJson):
        list(items.close())
    assert [each.value for each in found] == [1, {"b": 2}]


def test_one_value_may_not_fill_the_memory() -> None:
    items = Items()
    assert list(items.feed('{"a": ["' + "x" * (MAX_ITEM_CHARS - 100))) == []
    with pytest.raises(NotJson, match="larger"):
        list(items.feed("x" * 200))
