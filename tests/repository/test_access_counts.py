"""Reads are counted in batches, in separate rows, and never as a change of the memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lamplighter.domain.memory.memory import Candidate, Category, Memory
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures, memories
from lamplighter.repository.store import changes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
POOL = Candidate(category=Category.CONFIG, service=None, observation="20", tier=0, session_id=None)


async def made(db: Database, much: int) -> list[Memory]:
    async with writing(db):
        return [
            await memories.insert(db, replace(POOL, observation=f"{each}"), now=NOON)
            for each in range(much)
        ]


async def test_record_access_counts_each_memory_once_and_changes_nothing_else(db: Database) -> None:
    first, second, third = await made(db, 3)
    seq = await changes.last_seq(db)

    await exposures.record_access(db, [second.id, first.id, second.id, 4711], LATER)
    await exposures.record_access(db, [second.id], LATER + timedelta(hours=1))
    await exposures.record_access(db, [], LATER)

    found = await memories.by_ids(db, [first.id, second.id, third.id])
    assert found[first.id] == replace(first, access_count=1, accessed_at=LATER)
    assert found[second.id] == replace(
        second, access_count=2, accessed_at=LATER + timedelta(hours=1)
    )
    assert found[third.id] == third
    assert await changes.last_seq(db) == seq


async def test_record_access_counts_more_memories_than_one_batch(db: Database) -> None:
    made_ids = [each.id for each in await made(db, exposures.BATCH_SIZE + 20)]

    await exposures.record_access(db, made_ids, LATER)

    counted = [each.access_count for each in await memories.list_by_ids(db, made_ids)]
    assert counted == [1] * len(made_ids)
