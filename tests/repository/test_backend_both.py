"""Common guarantees of both databases: whole transactions, stable reads, and result types."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from counting import ADD, COUNTER, THINGS, add, count, make, whole

from lamplighter.repository import Database, reading, writing
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import is_postgres

TIMES = 1_000


@pytest.fixture
async def plain(url: str) -> AsyncIterator[Database]:
    """Open a SQLite or PostgreSQL database with a counter at 0 and an empty table of things."""
    async with Database(url) as db:
        await make(db)
        yield db


async def test_read_modify_writes_of_two_processes_lose_no_update(
    plain: Database,
    url: str,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    others = [spawn(ADD, url, str(TIMES)) for _ in range(2)]
    for other in others:
        assert await asyncio.to_thread(other.stdout.readline) == "ready\n"
    for other in others:  # both begin at once
        other.stdin.write("go\n")
        other.stdin.flush()

    for other in others:
        _, errors = await asyncio.to_thread(other.communicate, timeout=100)
        assert (other.returncode, errors) == (0, "")

    assert await count(plain) == 2 * TIMES


async def test_ignored_statement_error_within_writing_never_stores_part_of_it(
    plain: Database, url: str
) -> None:
    """SQLite continues after a failed statement; PostgreSQL discards all and must report it."""

    async def overlook() -> None:
        async with writing(plain):
            await add(plain)
            with pytest.raises(driver.IntegrityError):
                await plain.execute(sa.insert(COUNTER).values(id=1, n=5))

    if is_postgres(url):
        with pytest.raises(driver.OperationalError, match="the transaction was rolled back"):
            await overlook()
    else:
        await overlook()
    kept = not is_postgres(url)

    assert await count(plain) == int(kept)
    async with writing(plain):
        await add(plain)
    assert await count(plain) == int(kept) + 1


async def test_read_modify_writes_of_concurrent_tasks_lose_no_update(plain: Database) -> None:
    async def several() -> None:
        for _ in range(20):
            async with writing(plain):
                await add(plain)

    await asyncio.gather(*(several() for _ in range(10)))

    assert await count(plain) == 200


async def test_nested_writing_is_one_transaction(plain: Database) -> None:
    async def inner() -> None:
        async with writing(plain):
            await add(plain)

    async def outer() -> None:
        async with writing(plain):
            await inner()
            assert await count(plain) == 1
            raise RuntimeError("too late")

    with pytest.raises(RuntimeError, match="too late"):
        await outer()

    assert await count(plain) == 0
    assert not plain.in_transaction


async def test_failed_writing_is_rolled_back(plain: Database) -> None:
    free = whole(plain)

    async def fail() -> None:
        async with writing(plain):
            await add(plain)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert await count(plain) == 0
    assert whole(plain) == free


async def test_savepoint_rolls_back_without_its_outer_transaction(plain: Database) -> None:
    async def fail() -> None:
        async with plain.transaction():
            await add(plain)
            raise ZeroDivisionError

    async with writing(plain):
        await add(plain)
        with pytest.raises(ZeroDivisionError):
            await fail()
        assert await count(plain) == 1

    assert await count(plain) == 1


async def test_reading_sees_one_snapshot(plain: Database) -> None:
    async def other() -> None:
        async with writing(plain):
            await add(plain)

    async with reading(plain):
        before = await count(plain)
        await asyncio.create_task(other())
        assert await count(plain) == before

    assert await count(plain) == before + 1


async def test_constraint_violation_rolls_back_the_whole_transaction(plain: Database) -> None:
    async def fail() -> None:
        async with writing(plain):
            await add(plain)
            await plain.execute(sa.insert(COUNTER).values(id=1, n=5))

    with pytest.raises(driver.IntegrityError):
        await fail()

    assert await count(plain) == 0


async def test_execute_returns_the_number_of_rows(plain: Database) -> None:
    async with writing(plain):
        await plain.execute_many(sa.insert(THINGS), [{"id": n, "flag": True} for n in range(5)])
        assert await plain.execute(sa.update(THINGS).where(THINGS.c.id < 3).values(text="x")) == 3
        assert await plain.execute(sa.delete(THINGS).where(THINGS.c.id == 99)) == 0

    assert await plain.fetch_val("SELECT count(*) FROM things") == 5


@pytest.mark.parametrize("ids", [[], [1], [1, 3], list(range(900))])
async def test_list_of_values_is_expanded(plain: Database, ids: list[int]) -> None:
    async with writing(plain):
        await plain.execute_many(
            sa.insert(THINGS),
            [{"id": n, "at": datetime(2026, 1, 1, tzinfo=UTC)} for n in range(5)],
        )
    query = sa.select(THINGS.c.id).where(THINGS.c.id.in_(ids)).order_by(THINGS.c.id)

    found = [row["id"] for row in await plain.fetch_all(query)]

    assert found == [number for number in range(5) if number in ids]


async def test_list_of_times_is_expanded_in_the_stored_format(plain: Database) -> None:
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
    async with writing(plain):
        await plain.execute_many(sa.insert(THINGS), [{"id": at.day, "at": at} for at in moments])

    query = sa.select(THINGS.c.id).where(THINGS.c.at.in_(moments[1:]))
    assert [row["id"] for row in await plain.fetch_all(query)] == [2]


async def test_iterating_over_an_open_cursor_is_refused(plain: Database) -> None:
    free = whole(plain)

    with pytest.raises(TypeError, match="Fetch a page"):
        async for _ in plain.iterate(sa.select(COUNTER)):
            pass

    assert whole(plain) == free
