"""The speaker of a text."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.search.query import parse_query
from lamplighter.domain.search.ranking import (
    find_speaker,
    name_reasons,
    speaker_terms,
    utterance_speaker,
)
from lamplighter.domain.search.search import SearchRequest


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ada: it rains", "Ada"),
        ("  Ada Lund: it rains", "Ada Lund"),
        ("[9 May, 2026] Ada: it rains", "Ada"),
        ("(12:30) sonarr-2: up again", "sonarr-2"),
        ("Jürgen: läuft", "Jürgen"),
        ("It rains", None),
        ("See http://127.0.0.1:1", None),
        ("12:30", None),
        ("", None),
        (": nobody", None),
        ("What four words say is: nothing", None),
        ("a" * 100 + ": long", None),
        ("[" * 10_000, None),
        ("1." * 150, None),
        ("May 1, " * 50, None),
    ],
)
def test_a_leading_name_is_the_speaker(text: str, name: str | None) -> None:
    assert find_speaker(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[1:56 pm on 8 May, 2023] Ada: it rains", "Ada"),
        ("2026-05-09T12:30:00Z Ada Lund: it rains", "Ada Lund"),
        ("Monday, May 8, 2023 - Ada: it rains", "Ada"),
        ("D1:3 Ada: it rains", "Ada"),
        ("**Ada**: it rains", "Ada"),
        ("- **Ada:** it rains", "Ada"),
        ("Ada (12:30): it rains", "Ada"),
        ('Ada said, "it rains"', "Ada"),
        ("May Lin: it rains", "May Lin"),
    ],
)
def test_dates_places_and_marks_may_surround_the_name_of_a_speaker(text: str, name: str) -> None:
    assert find_speaker(text) == name


def test_the_title_of_a_session_memory_is_the_speaker_if_it_is_a_name() -> None:
    said = Candidate(
        category=Category.LEARNING,
        service=None,
        observation="It rains",
        title="Ada Lund",
        tier=0,
        session_id=1,
    )

    assert utterance_speaker(said) == "Ada Lund"
    assert utterance_speaker(replace(said, title="Rain in spring")) is None
    assert utterance_speaker(replace(said, session_id=None)) is None


def test_a_person_matches_by_first_name_and_a_thing_by_all_words() -> None:
    assert speaker_terms("Ada Lund") == ["ada"]
    assert speaker_terms("fix auth") == ["fix", "auth"]


@pytest.mark.parametrize(
    ("given", "query", "named"),
    [
        ({"service": "Home Assistant"}, "the home network is slow", []),
        ({"service": "Home Assistant"}, "home assistant is slow", ["query names Home Assistant"]),
        ({"title": "Redis Timeout", "session_id": 1}, "redis memory", []),
        (
            {"title": "Redis Timeout", "session_id": 1},
            "redis timeouts",
            ["query names Redis Timeout"],
        ),
        ({"observation": "Ada Lund: it rains"}, "what did Ada say", ["query names Ada Lund"]),
        ({"observation": "sonarr: up", "service": "sonarr"}, "sonarr", ["query names sonarr"]),
    ],
)
def test_a_query_names_a_thing_by_all_words_and_a_person_by_first_name(
    given: dict[str, Any], query: str, named: list[str]
) -> None:
    row = {"category": Category.LEARNING, "observation": "x", "tier": 0, "session_id": None}
    said = Candidate(**{"service": None, **row, **given})
    question = parse_query(SearchRequest(query=query), now=datetime(2026, 1, 1, tzinfo=UTC))

    assert [each.what for each in name_reasons(said, question, 1.0)] == named
