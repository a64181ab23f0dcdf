"""Writes in the background: they follow each other, but leave time for other processes."""

import asyncio
from contextlib import suppress

import pytest

from lamplighter.repository import Database, writing
from lamplighter.repository.store.driver import Error
from lamplighter.repository.upkeep.batches import writing_in_background

HELD_SECONDS = 0.05


async def test_another_process_writes_after_two_background_writes_at_most(sqlite: str) -> None:
    count = 0

    async def repeat(db: Database) -> None:
        nonlocal count
        while True:
            async with writing_in_background(db):
                await asyncio.sleep(HELD_SECONDS)
                count += 1

    async with Database(sqlite) as ours, Database(sqlite) as theirs:
        tasks = [asyncio.create_task(repeat(ours)) for _ in range(3)]
        await asyncio.sleep(2 * HELD_SECONDS)
        missed = []
        for _ in range(10):
            before = count
            async with writing(theirs):
                missed.append(count - before)
            await asyncio.sleep(HELD_SECONDS / 10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert max(missed) <= 2, missed


async def test_a_background_write_within_a_transaction_joins_it(db: Database) -> None:
    with suppress(ZeroDivisionError):
        async with writing(db):
            async with writing_in_background(db):
                await db.execute("DELETE FROM alembic_version")
            raise ZeroDivisionError

    assert await db.fetch_val("SELECT count(*) FROM alembic_version") == 1


async def test_a_failed_background_write_does_not_delay_the_next(db: Database) -> None:
    with pytest.raises(Error):
        async with writing_in_background(db):
            await db.execute("DELETE FROM no_such_table")

    async with writing_in_background(db):
        assert await db.fetch_val("SELECT count(*) FROM alembic_version") == 1
