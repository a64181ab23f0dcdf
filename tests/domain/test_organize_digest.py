"""Digests: many old episodes become few texts that state how many they represent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from test_organize_duplicates import raw

from lamplighter.domain.graph.extract import TextContext
from lamplighter.domain.memory.memory import Category, Memory, MemoryKind
from lamplighter.domain.organize.digest import (
    digest_keys,
    is_old_episode,
    make_bundles,
    make_digests,
)
from lamplighter.domain.organize.facts import find_facts

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
LATER = MONDAY + timedelta(days=30)


def old(number: int, text: str, *, days: float = 0, **more: object) -> Memory:
    return raw(number, text, created_at=MONDAY + timedelta(days=days), **more)


@pytest.mark.parametrize(
    ("change", "days", "taken"),
    [
        ({}, 8, True),
        ({}, 7, True),
        ({}, 6, False),
        ({"kind": MemoryKind.SEMANTIC}, 8, False),
        ({"distilled": True}, 8, False),
        ({"pinned": True}, 8, False),
        ({"active": False}, 8, False),
        ({"category": Category.TIMING}, 8, False),
    ],
)
def test_only_old_unpinned_episodes_are_compressed(
    change: dict[str, object], days: int, taken: bool
) -> None:
    memory = old(1, "The build failed", **change)

    assert is_old_episode(memory, MONDAY + timedelta(days=days)) is taken


def test_repetitions_become_one_digest_with_count_dates_and_values() -> None:
    episodes = [
        old(number, f"The build took {seconds} seconds.", days=number)
        for number, seconds in enumerate((41, 65, 52))
    ]
    [bundle] = make_bundles(episodes, LATER)

    [digest] = make_digests(bundle, {})

    assert digest.text == (
        "The build took 52 seconds (3 times, 2026-01-05 to 2026-01-07; values 41 to 65)."
    )
    assert digest.metadata["episodes"] == 3
    held = raw(9, digest.text, metadata=digest.metadata, title=digest.title)
    [more] = make_bundles([old(10, "The build took 30 seconds.", days=4)], LATER)
    [again] = make_digests(more, {digest.key: held})
    assert (again.key, again.metadata["episodes"]) == (digest.key, 4)
    assert again.text.endswith("(4 times, 2026-01-05 to 2026-01-09; values 30 to 65).")


def test_other_episodes_of_a_week_become_one_digest_of_the_most_informative() -> None:
    episodes = [
        old(1, "Asked Maria about the invoices of Acme."),
        old(2, "Ok.", days=1),
        old(3, "Moved the image cache to node-7; disk usage fell to 40 %.", days=2),
    ]
    [bundle] = make_bundles(episodes, LATER)

    [digest] = make_digests(bundle, {})

    assert digest.key in digest_keys(bundle)
    assert digest.text.startswith("Notes of the week of 2026-01-05: Asked Maria about")
    assert "node-7" in digest.text
    held = raw(9, digest.text, metadata=digest.metadata, title=digest.title)
    [more] = make_bundles([old(10, "Rotated the keys of the mailer.", days=3)], LATER)
    [again] = make_digests(more, {digest.key: held})
    assert again.key == digest.key
    assert again.metadata["episodes"] == 4
    assert "Asked Maria" in again.text
    assert "Rotated the keys" in again.text
    assert again.text.count("Notes of the week") == 1


def test_bundles_are_separated_by_project_service_scope_and_week() -> None:
    some = [
        old(1, "One"),
        old(2, "Two", project="billing"),
        old(3, "Three", service="web"),
        old(4, "Four", scope="global"),
        old(5, "Five", days=7),
    ]

    assert len(make_bundles(some, LATER)) == 5
    assert make_bundles(some[::-1], LATER) == make_bundles(some, LATER)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("We decided to use NATS for jobs. The rest was small talk.", ["decision"]),
        ("From now on deploy on Tuesdays only.", ["preference"]),
        ("The checkout service uses Redis.", ["architecture"]),
        ("Maria maintains the billing app.", ["discovery"]),
        ("Maria and Chen are on call for the Redis cluster.", ["discovery"]),
        ("It owns a lock until then.", []),
        ("Nobody maintains the Redis cluster.", []),
        ("Perhaps Maria maintains it.", []),
        ("Ran the tests: 51 passed.", []),
        ("Should we use Kafka?", []),
        ("Maybe the checkout service uses Redis.", []),
        ("## Key Learnings\n- The cache must be warm before the first request", ["learning"]),
    ],
)
def test_facts_are_extracted_from_an_episode(text: str, facts: list[str]) -> None:
    assert [each.category for each in find_facts(text, TextContext(project="shop"))] == facts


def test_the_first_sentence_of_a_captured_decision_is_a_fact() -> None:
    text = "Postgres stays on 15 until March. Asked twice."

    [fact, *_] = find_facts(text, TextContext(project="shop"), Category.DECISION)

    assert fact.text == "Postgres stays on 15 until March."
    assert replace(fact).category is Category.DECISION
