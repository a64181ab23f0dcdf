"""Fading at the start of a session, and before anything else changes a memory."""

from dataclasses import replace
from datetime import timedelta

from examples import NOON, OPEN

from lamplighter.domain.memory import Candidate, Category, Edit, Memory
from lamplighter.repository import Database, history, memories, writing
from lamplighter.usecases import curate
from lamplighter.usecases.fade import fade
from lamplighter.usecases.remember import Manner, remember

DAY = timedelta(days=1)
SLOW_START = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    tier=1,
    session_id=None,
)


async def held(db: Database, confidence: float = 0.7) -> Memory:
    async with writing(db):
        return await memories.insert(db, replace(SLOW_START, confidence=confidence), now=NOON)


async def test_what_nobody_confirmed_fades_once_for_each_week(db: Database) -> None:
    memory = await held(db)

    first = await fade(db, now=NOON + 44 * DAY)
    again = [await fade(db, now=NOON + 44 * DAY) for _ in range(10)]

    assert first == [replace(memory, confidence=0.5, decayed_weeks=2, version=2)]
    assert again == [[]] * 10
    [entry] = (await history.of(db, memory.id, limit=5)).items
    assert (entry.cause, entry.reason) == ("faded", "not confirmed for 2 more weeks")


async def test_a_clock_behind_what_was_seen_fades_nothing(db: Database) -> None:
    await held(db)
    async with writing(db):
        await memories.insert(db, replace(SLOW_START, service="later"), now=NOON + 400 * DAY)

    assert await fade(db, now=NOON + 100 * DAY) == []


async def test_reinforcement_counts_from_the_faded_confidence(db: Database) -> None:
    memory = await held(db)

    result = await remember(db, SLOW_START, now=NOON + 50 * DAY, manner=Manner(redact=OPEN))

    assert result.memory.id == memory.id
    assert (result.memory.confidence, result.memory.decayed_weeks) == (0.6, 0)
    assert result.memory.updated_at == NOON + 50 * DAY
    assert await fade(db, now=NOON + 80 * DAY) == []


async def test_an_edit_comes_after_what_is_due(db: Database) -> None:
    memory = await held(db)

    after = await curate.edit(
        db,
        memory.id,
        Edit(pinned=True),
        version=None,
        now=NOON + 44 * DAY,
        redact=OPEN,
    )

    assert (after.confidence, after.pinned, after.decayed_weeks) == (0.5, True, 2)
    assert await fade(db, now=NOON + 90 * DAY) == []
