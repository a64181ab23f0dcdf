"""Memories that are not confirmed lose confidence."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cells import walk
from lamplighter.domain.memory.decay import apply_decay, inactive_from
from lamplighter.domain.memory.memory import (
    Category,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    Trust,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SLOW_START = Memory(
    id=MemoryId(1),
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    confidence=0.7,
    active=True,
    tier=1,
    session_id=1,
    created_at=NOON,
    updated_at=NOON,
)
UNVERIFIED = replace(SLOW_START, category=Category.DECISION, trust=Trust.UNVERIFIED)


@pytest.mark.parametrize(
    ("days", "confidence"),
    [(0, 0.7), (15, 0.7), (30, 0.7), (36, 0.7), (37, 0.6), (44, 0.5), (51, 0.4), (58, 0.3)],
)
def test_each_full_week_after_30_days_lowers_the_confidence_by_0_1(
    days: int, confidence: float
) -> None:
    memory = apply_decay(SLOW_START, now=NOON + days * DAY)

    assert (memory.confidence, memory.active, memory.updated_at) == (confidence, True, NOON)


def test_a_memory_below_0_30_becomes_inactive() -> None:
    memory = apply_decay(replace(SLOW_START, confidence=0.4), now=NOON + 44 * DAY)

    assert (memory.confidence, memory.active) == (0.2, False)
    assert memory.inactive_reason is InactiveReason.LOW


def test_decay_does_not_depend_on_how_often_it_is_applied() -> None:
    often = SLOW_START
    for hours in range(0, 51 * 24, 2):
        often = apply_decay(often, now=NOON + timedelta(hours=hours))
    once = apply_decay(SLOW_START, now=NOON + 51 * DAY - timedelta(hours=2))

    assert (often.confidence, often.decayed_weeks) == (once.confidence, once.decayed_weeks)


def test_the_confidence_never_falls_below_zero() -> None:
    assert apply_decay(SLOW_START, now=NOON + 4000 * DAY).confidence == 0.0


@pytest.mark.parametrize(
    "memory",
    [
        replace(SLOW_START, pinned=True),
        replace(SLOW_START, category=Category.DECISION),
        replace(UNVERIFIED, kind=MemoryKind.PROJECT),
        replace(UNVERIFIED, kind=MemoryKind.EPISODIC),
        replace(UNVERIFIED, trust=Trust.TRUSTED),
        replace(UNVERIFIED, pinned=True),
    ],
    ids=["pinned", "knowledge", "project", "episode", "verified", "pinned unverified"],
)
def test_pinned_memories_and_knowledge_do_not_decay(memory: Memory) -> None:
    assert apply_decay(memory, now=NOON + 400 * DAY) is memory


def test_an_unverified_semantic_memory_decays_until_it_is_verified() -> None:
    memory = apply_decay(UNVERIFIED, now=NOON + 44 * DAY)

    assert (memory.confidence, memory.active) == (0.5, True)
    verified = replace(memory, trust=Trust.TRUSTED)
    assert apply_decay(verified, now=NOON + 400 * DAY) is verified


def test_an_inactive_memory_decays_and_remains_inactive() -> None:
    aside = replace(SLOW_START, active=False, inactive_reason=InactiveReason.OPERATOR)

    memory = apply_decay(aside, now=NOON + 44 * DAY)

    assert (memory.confidence, memory.active) == (0.5, False)
    assert memory.inactive_reason is InactiveReason.OPERATOR


def test_a_clock_set_back_causes_no_decay() -> None:
    assert apply_decay(SLOW_START, now=NOON - 400 * DAY) is SLOW_START


@pytest.mark.parametrize(
    ("change", "days"),
    [
        ({}, 30 + 7 * 5),
        ({"confidence": 0.3}, 37),
        ({"confidence": 1.0}, 30 + 7 * 8),
        ({"confidence": 0.5, "decayed_weeks": 2}, 30 + 7 * 5),
        ({"pinned": True}, None),
        ({"active": False}, None),
        ({"category": Category.DECISION}, None),
        ({"category": Category.DECISION, "trust": Trust.UNVERIFIED}, 30 + 7 * 5),
    ],
)
def test_inactive_from_returns_the_date_of_inactivity(
    change: dict[str, Any], days: int | None
) -> None:
    expected = None if days is None else NOON + days * DAY

    assert inactive_from(replace(SLOW_START, **change)) == expected


@pytest.mark.parametrize("confidence", [math.inf, 1e300, 9.0])
def test_a_confidence_above_one_decays_like_one(confidence: float) -> None:
    surest = inactive_from(replace(SLOW_START, confidence=1.0))

    assert inactive_from(replace(SLOW_START, confidence=confidence)) == surest


@walk("confidence", [number / 100 for number in range(30, 101)])
def test_decay_makes_a_memory_inactive_exactly_at_the_stated_time(confidence: float) -> None:
    memory = replace(SLOW_START, confidence=confidence)
    falls = inactive_from(memory)

    assert falls is not None
    assert not apply_decay(memory, now=falls).active
    assert apply_decay(memory, now=falls - timedelta(seconds=1)).active


def test_a_date_beyond_the_calendar_means_never() -> None:
    last = replace(SLOW_START, updated_at=datetime(9999, 12, 31, tzinfo=UTC))

    assert inactive_from(last) is None
    assert inactive_from(replace(SLOW_START, decayed_weeks=10**15)) is None
