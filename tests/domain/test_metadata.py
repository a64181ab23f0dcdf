"""Metadata of a memory: valid values, and search by them."""

from typing import Any

import pytest

from lamplighter.domain.errors import InvalidField
from lamplighter.domain.memory.metadata import clean_metadata, metadata_pairs
from lamplighter.domain.secrets.redact import Redactor

REDACT = Redactor({"hunter2-hunter2": "DB_PASSWORD"})


def cleaned(value: Any) -> tuple[dict[str, Any], list[str]]:
    wrong: list[InvalidField] = []
    found = clean_metadata(value, REDACT, wrong)
    return found, [each.field for each in wrong]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"a": 1, "b": 2.5, "c": True, "d": None}, {"a": 1, "b": 2.5, "c": True, "d": None}),
        ({"a": {"b": {"c": {"d": 1}}}}, {"a": {"b": {"c": {"d": 1}}}}),
        ({"note": "uses hunter2-hunter2"}, {"note": "uses [REDACTED:DB_PASSWORD]"}),
        ({"db_password": "plainwords99"}, {"db_password": "[REDACTED]"}),
        ({"list": ["x", {"token": "plainwords99abc"}]}, {"list": ["x", {"token": "[REDACTED]"}]}),
    ],
)
def test_what_is_kept(given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert cleaned(given) == (kept, [])


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ("text", ["metadata"]),
        ({"": 1}, ["metadata"]),
        ({"two\nlines": 1}, ["metadata"]),
        ({"k" * 65: 1}, ["metadata"]),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, ["metadata.a.b.c.d"]),
        ({"a": float("nan")}, ["metadata.a"]),
        ({"a": [float("inf"), b"x"]}, ["metadata.a", "metadata.a"]),
        ({"a": "é" * 8_192}, ["metadata"]),
    ],
)
def test_what_is_refused_is_named_by_its_path(given: Any, fields: list[str]) -> None:
    assert cleaned(given) == ({}, fields)


def test_pairs_name_nested_keys_and_each_item_of_a_list() -> None:
    given = {"Env": "Prod", "port": 8080, "on": True, "a": {"b": ["X", 1, [2]]}, "none": None}
    assert list(metadata_pairs(given)) == [
        ("env", "prod"),
        ("port", "8080"),
        ("on", "true"),
        ("a.b", "x"),
        ("a.b", "1"),
        ("none", "null"),
    ]
