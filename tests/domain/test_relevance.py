"""Which memories are close enough to a prompt to be included with it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lamplighter.domain.memory.memory import Category, Memory, MemoryId
from lamplighter.domain.search.relevance import is_relevant, shares_topic

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
POOL = Memory(
    id=MemoryId(1),
    category=Category.CONFIG,
    service=None,
    title="Size of the pool",
    observation="The Postgres pool holds 20 connections; pgbouncer stands before it.",
    topic_key="config/db/pool",
    confidence=0.7,
    active=True,
    tier=0,
    session_id=None,
    created_at=NOON,
    updated_at=NOON,
)


@pytest.mark.parametrize(
    "prompt",
    [
        "why does the postgres pool run out of connections?",
        "raise the pool to 40 connections",
        "look at config/db/pool again",
        "does pgbouncer limit connections here?",
    ],
)
def test_a_prompt_about_the_same_topic_is_relevant(prompt: str) -> None:
    assert is_relevant(prompt, POOL)


@pytest.mark.parametrize(
    "prompt",
    [
        "fix the failing test",
        "please add a button to the page",
        "what is the size of this file?",
        "continue",
        "",
        "the stands at the fair",
        "add a pool table to the game with balls, cues, pockets, physics, sounds and a score",
    ],
)
def test_a_prompt_that_shares_only_common_words_is_not_relevant(prompt: str) -> None:
    assert not is_relevant(prompt, POOL)


def test_an_inflected_word_matches_and_a_different_word_does_not() -> None:
    assert is_relevant("postgres connection refused", POOL)
    assert not is_relevant("the postman collects", POOL)


MIGRATIONS = replace(
    POOL,
    title="",
    topic_key=None,
    observation="Always run the migrations before the deployment.",
)


@pytest.mark.parametrize(
    ("prompt", "shared"),
    [
        ("Prepare the deployment.", True),
        ("write a migration that adds the column", True),
        ("start the deployment of the shop to the staging cluster after lunch", True),
        ("remember to run the tests", False),
        ("fix the failing test", False),
        ("", False),
    ],
)
def test_a_short_sentence_must_share_half_of_its_topic(prompt: str, shared: bool) -> None:
    assert shares_topic(prompt, MIGRATIONS) == shared
    assert not is_relevant(prompt, MIGRATIONS)
