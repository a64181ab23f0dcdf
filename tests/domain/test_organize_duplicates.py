"""Near-duplicates: by trigrams, never across a number, a name or a negation."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Memory,
    MemoryId,
    Source,
    new_memory,
)
from lamplighter.domain.organize.duplicates import (
    MAX_COMPARED,
    differs_in_subject,
    drops_nothing,
    find_duplicates,
    is_duplicate,
    similarity,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FULL = "The deploy of the checkout service failed because the disk was full"


def raw(number: int, text: str, **more: object) -> Memory:
    candidate = Candidate(
        category=Category.LEARNING,
        service=None,
        observation=text,
        tier=0,
        session_id=None,
        source=Source.CAPTURED,
        project="shop",
    )
    at = NOON + timedelta(minutes=number)
    memory = replace(new_memory(candidate, now=at), id=MemoryId(number))
    return replace(memory, **more)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (FULL, True),
        (f"{FULL}.", True),
        (FULL.upper(), True),
        (FULL.replace("deploy", "deploys"), True),
        (FULL.replace("checkout", "chekcout"), True),
        (f"{FULL} again", True),
        (FULL.replace("was full", "was not full"), False),
        (FULL.replace("disk", "disk 2"), False),
        (FULL.replace("checkout", "redis"), False),
        (FULL.replace("checkout", "billing"), False),
        (f"{FULL} on Monday", False),
        (f"{FULL} at Acme", False),
        (f"{FULL} in src/app.py", False),
        ("Something else altogether", False),
    ],
)
def test_duplicates_differ_in_no_number_name_or_negation(other: str, same: bool) -> None:
    assert is_duplicate(FULL, other) is same
    assert is_duplicate(other, FULL) is same


def test_texts_that_differ_in_a_known_name_are_not_duplicates() -> None:
    longer = f"{FULL} of archive"

    assert is_duplicate(FULL, longer)
    assert not is_duplicate(FULL, longer, frozenset(["archive"]))


@pytest.mark.parametrize(
    ("short", "long", "skipped"),
    [
        ("Backups run at night", "Backups run at night on the archive", True),
        ("Backups run", "Backups run at 3", False),
        ("Backups run at night", "Never say that backups run at night", False),
        ("Backups run at night", "backups RUN at night.", True),
        ("Backups", "Databackups run", False),
    ],
)
def test_a_contained_text_is_redundant_unless_a_number_or_negation_is_missing(
    short: str, long: str, skipped: bool
) -> None:
    assert drops_nothing(short, long) is skipped


def test_texts_with_several_different_words_differ_in_subject() -> None:
    one = "We use Grafana for invoices because Chen knows it"

    assert differs_in_subject(one, "We use Kafka for webhooks because Chen knows it")
    assert not differs_in_subject(one, "We use Kafka for invoices because Chen knows it")


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_and_1_for_equal_texts(one: str, other: str) -> None:
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, one) == 1


@given(st.lists(st.sampled_from([FULL, f"{FULL} again", FULL.lower(), "Other"]), max_size=12))
def test_only_the_newest_of_each_group_of_duplicates_remains(texts: list[str]) -> None:
    held = [raw(number, text) for number, text in enumerate(texts, 1)]

    pairs = find_duplicates(held)

    aside = {older.id for older, _ in pairs}
    assert all(older.id < newer.id and newer.id not in aside for older, newer in pairs)
    left = [each for each in held if each.id not in aside]
    assert find_duplicates(left) == []
    assert len({each.observation == "Other" for each in left}) == len(left)


def test_a_repetition_is_replaced_although_a_thousand_similar_texts_are_between() -> None:
    slots = product(
        ("deploy", "upgrade", "restart", "backup", "reload", "migration"),
        ("checkout", "billing", "search", "login", "mail", "reporting"),
        ("disk", "queue", "cache", "bucket", "table", "volume"),
        ("full", "slow", "locked", "missing", "broken", "empty"),
    )
    between = [
        f"The {what} of the {which} service failed because the {where} was {how}"
        for what, which, where, how in slots
    ]
    between.remove(FULL)
    assert len(between) > 10 * MAX_COMPARED
    texts = [FULL, *between, FULL.replace("deploy", "deploys")]
    held = [raw(number, text) for number, text in enumerate(texts, 1)]

    pairs = find_duplicates(held)

    assert (held[0], held[-1]) in pairs


@pytest.mark.parametrize(
    "change",
    [
        {"source": Source.IMPORTED},
        {"service": "web"},
        {"project": "billing"},
        {"scope": "global"},
        {"pinned": True},
        {"distilled": True},
        {"active": False},
        {"category": Category.TIMING},
    ],
    ids=lambda each: next(iter(each)),
)
def test_imported_and_differently_scoped_memories_are_never_duplicates(
    change: dict[str, object],
) -> None:
    older, newer = raw(1, FULL, **change), raw(2, FULL)

    assert find_duplicates([raw(1, FULL), newer]) == [(raw(1, FULL), newer)]
    assert find_duplicates([older, newer]) == []
