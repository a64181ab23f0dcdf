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
def test_valid_metadata_is_accepted_and_normalized(
    given: dict[str, Any], kept: dict[str, Any]
) -> None:
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
def test_invalid_metadata_is_rejected_with_its_path(given: Any, fields: list[str]) -> None:
    assert cleaned(given) == ({}, fields)


def test_metadata_pairs_include_nested_keys_and_each_list_item() -> None:
    given = {"Env": "Prod", "port": 8080, "on": True, "a": {"b": ["X", 1, [2]]}, "none": None}
    assert list(metadata_pairs(given)) == [
        ("env", "prod"),
        ("port", "8080"),
        ("on", "true"),
        ("a.b", "x"),
        ("a.b", "1"),
        ("none", "null"),
    ]
