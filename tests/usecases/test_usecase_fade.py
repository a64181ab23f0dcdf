"""Decay at the start of a session, and before any other change of a memory."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from examples import NOON

import direct_writes
from confidences import UP, WEEK, after
from contexts import context, learning
from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import fading, history, memories
from lamplighter.repository.store import driver, tables
from lamplighter.repository.store.dialect import stamp
from lamplighter.repository.upkeep.batches import FIRST
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.fade import fade, fade_for_session
from lamplighter.usecases.memory.remember import remember

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


async def test_unconfirmed_memories_fade_once_for_each_week(db: Database) -> None:
    memory = await held(db)

    first = await fade(db, now=NOON + 44 * DAY)
    again = [await fade(db, now=NOON + 44 * DAY) for _ in range(10)]

    assert await memories.get(db, memory.id) == replace(
        memory, confidence=0.5, decayed_weeks=2, version=2
    )
    assert (first, again) == (1, [0] * 10)
    [entry] = (await history.of_memory(db, memory.id, limit=5)).items
    assert (entry.cause, entry.reason) == ("faded", "not confirmed for 2 more weeks")


async def test_session_start_fades_only_considered_memories_of_a_large_store(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = [(await held(db)).id for _ in range(2)]
    later = NOON + 44 * DAY

    async def considered() -> list[int]:
        return [mine]

    monkeypatch.setattr(fading, "AT_ONCE", 1)
    await fade_for_session(db, considered, now=later)
    found = {each.id: each.confidence for each in await memories.list_by_ids(db, [mine, other])}
    assert found == {mine: 0.5, other: 0.7}

    monkeypatch.undo()
    await fade_for_session(db, considered, now=later)
    assert await fade(db, now=later) == 0  # it was all


async def test_clock_behind_the_newest_stored_time_fades_nothing(db: Database) -> None:
    await held(db)
    later = replace(SLOW_START, service="later")
    await curate.create(context(db, NOON + 400 * DAY), later)

    assert await fade(db, now=NOON + 100 * DAY) == 0


async def test_row_with_a_future_date_does_not_block_fading_of_others(
    db: Database, url: str
) -> None:
    memory, ahead = await held(db), await held(db)
    direct_writes.run(
        url,
        f"UPDATE memories SET updated_at = '2099-01-01T00:00:00Z' WHERE id = {ahead.id}",
    )

    assert await fade(db, now=NOON + 44 * DAY) == 1

    found = await memories.by_ids(db, [memory.id, ahead.id])
    assert [each.confidence for each in found.values()] == [0.5, 0.7]


async def test_reinforcement_raises_the_faded_confidence(db: Database) -> None:
    memory = await held(db)

    result = await remember(learning(db), SLOW_START, now=NOON + 50 * DAY)

    assert result.memory.id == memory.id
    assert (result.memory.confidence, result.memory.decayed_weeks) == (after(WEEK, WEEK, UP), 0)
    assert result.memory.updated_at == NOON + 50 * DAY
    assert await fade(db, now=NOON + 80 * DAY) == 0


async def test_edit_applies_due_fading_first(db: Database) -> None:
    memory = await held(db)

    after = await curate.edit(
        context(db, NOON + 44 * DAY), memory.id, Edit(pinned=True), version=None
    )

    assert (after.confidence, after.pinned, after.decayed_weeks) == (0.5, True, 2)
    assert await fade(db, now=NOON + 90 * DAY) == 0


def many(url: str, count: int = 1_200) -> None:
    """Write enough memories for their decay to take several batches."""
    at = stamp(NOON)
    row = f"('timing', 'Takes 60s', 0.7, '{at}', '{at}')"
    names = "category, observation, confidence, created_at, updated_at"
    direct_writes.run(url, f"INSERT INTO memories ({names}) VALUES {', '.join([row] * count)}")


def confidences(url: str) -> list[float]:
    rows = direct_writes.run(url, "SELECT confidence FROM memories ORDER BY id")
    return [confidence for (confidence,) in rows]


async def test_interrupted_fading_is_completed_by_the_next_run(db: Database, url: str) -> None:
    many(url)
    direct_writes.refuse(url, "UPDATE ON memories", "not now", only_if="old.id = 700")
    with pytest.raises(driver.DatabaseError, match="not now"):
        await fade(db, now=NOON + 44 * DAY)
    half = confidences(url)
    direct_writes.allow(url, "memories")

    rest = await fade(db, now=NOON + 44 * DAY)

    assert half == [0.5] * FIRST + [0.7] * (1_200 - FIRST)
    assert rest == 1_200 - FIRST
    assert confidences(url) == [0.5] * 1_200
    entries = "SELECT memory_id FROM history ORDER BY memory_id"
    assert direct_writes.run(url, entries) == [(number,) for number in range(1, 1_201)]


async def test_other_writes_run_between_fading_batches(db: Database, url: str) -> None:
    many(url)

    async with asyncio.TaskGroup() as group:
        fading = group.create_task(fade(db, now=NOON + 44 * DAY))
        group.create_task(remember(learning(db), SLOW_START, now=NOON + 44 * DAY))

    told = await db.fetch_all(tables.changes.select().order_by(tables.changes.c.seq))
    ops = [each["op"] for each in told]
    assert fading.result() == 1_200
    assert ops.index("created") < len(ops) - 1
    assert ops[-1] == "batch"


async def test_fading_stops_at_the_next_batch_after_losing_leadership(
    db: Database, url: str
) -> None:
    many(url)
    asked: list[int] = []

    async def fence() -> None:
        asked.append(1)
        if len(asked) > 1:
            raise LeadershipLost("Another supervisor is the leader.")

    db.fence = fence
    with pytest.raises(LeadershipLost):
        await fade(db, now=NOON + 44 * DAY)

    assert confidences(url) == [0.5] * FIRST + [0.7] * (1_200 - FIRST)
