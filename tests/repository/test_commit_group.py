"""Short transactions of concurrent tasks, which one COMMIT ends."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from counting import COUNTER, THINGS, add, count, empty, make, whole

from lamplighter.repository import Database, writing
from lamplighter.repository.store import commit_group, driver

TASKS = 8
OR_ROLLBACK = "INSERT OR ROLLBACK INTO counter VALUES (1, 5)"


async def add_shortly(db: Database) -> None:
    async with writing(db, short=True):
        await add(db)


async def fail_shortly(db: Database) -> None:
    async with writing(db, short=True):
        await add(db, 1_000)
        raise ZeroDivisionError


def commits(db: Database) -> list[str]:
    """Return a list to which each later COMMIT of the writer is added."""
    [writer] = db._backend.writers._all  # type: ignore[attr-defined]
    made: list[str] = []
    writer._conn.set_trace_callback(lambda sql: made.append(sql) if sql == "COMMIT" else None)
    return made


async def test_one_commit_ends_short_transactions_that_wait_for_each_other(
    plain: Database,
) -> None:
    made = commits(plain)

    await asyncio.gather(*(add_shortly(plain) for _ in range(TASKS)))

    assert (await count(plain), len(made)) == (TASKS, 1)


async def test_number_of_transactions_of_one_commit_is_limited(
    plain: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_group, "MAX_MEMBERS", 3)
    made = commits(plain)

    await asyncio.gather(*(add_shortly(plain) for _ in range(TASKS)))

    assert (await count(plain), len(made)) == (TASKS, 2)


async def test_other_readers_see_a_short_transaction_when_it_returns(plain: Database) -> None:
    async def check(number: int) -> None:
        async with writing(plain, short=True):
            await plain.execute(sa.insert(THINGS).values(id=number))
        query = sa.select(THINGS.c.id).where(THINGS.c.id == number)
        assert await plain.fetch_val(query) == number

    await asyncio.gather(*map(check, range(TASKS)))


async def test_failed_short_transaction_undoes_only_its_own_changes(plain: Database) -> None:
    works = [fail_shortly if n in (0, 3, TASKS - 1) else add_shortly for n in range(TASKS)]

    ended = await asyncio.gather(*(work(plain) for work in works), return_exceptions=True)

    assert [type(each) for each in ended] == [
        ZeroDivisionError if work is fail_shortly else type(None) for work in works
    ]
    assert await count(plain) == TASKS - 3
    assert whole(plain)[0] == 1


async def test_short_transaction_does_not_wait_for_a_long_one(plain: Database) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        async with writing(plain):
            await ended.wait()
            await add(plain)

    async def short() -> None:
        async with writing(plain, short=True):
            await add(plain)
            long.append(asyncio.create_task(work()))
            await asyncio.sleep(0)  # it waits for the writer now

    long: list[asyncio.Task[None]] = []
    await short()
    assert await count(plain) == 1

    ended.set()
    await long[0]
    assert await count(plain) == 2


async def test_failed_commit_fails_each_of_its_transactions(plain: Database) -> None:
    async with writing(plain):
        await plain.execute(
            "CREATE TABLE parts (of INTEGER REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)"
        )

    async def fail_late() -> None:
        async with writing(plain, short=True):
            await plain.execute("INSERT INTO parts VALUES (7)")

    works = [add_shortly(plain), fail_late(), add_shortly(plain)]
    ended = await asyncio.gather(*works, return_exceptions=True)

    assert [type(each) for each in ended] == [driver.IntegrityError] * 3
    await add_shortly(plain)
    assert await count(plain) == 1


@pytest.mark.parametrize("ignored", [False, True], ids=["reported", "ignored"])
async def test_transaction_that_the_database_rolled_back_fails_each_task(
    plain: Database, ignored: bool
) -> None:
    async def break_all() -> None:
        async with writing(plain, short=True):
            with suppress(*[driver.IntegrityError] if ignored else []):
                await plain.execute(OR_ROLLBACK)

    works = [add_shortly(plain), break_all(), add_shortly(plain), add_shortly(plain)]
    ended = await asyncio.gather(*works, return_exceptions=True)

    assert isinstance(ended[0], driver.OperationalError)
    assert isinstance(ended[1], driver.Error)
    assert ended[2:] == [None, None]
    assert await count(plain) == 2


@pytest.mark.parametrize("at", range(1, 8))
async def test_cancelled_short_transaction_leaves_the_others_complete(
    plain: Database, at: int
) -> None:
    tasks = [asyncio.create_task(add_shortly(plain)) for _ in range(3)]
    for _ in range(at):
        await asyncio.sleep(0)
    tasks[1].cancel()

    ended: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)

    assert ended[0] is ended[2] is None
    assert await count(plain) in ((3,) if ended[1] is None else (2, 3))
    await add_shortly(plain)
    assert whole(plain)[0] == 1


async def test_commit_is_made_if_no_task_takes_the_open_transaction(plain: Database) -> None:
    async with asyncio.timeout(20):
        for at in range(12):
            before = await count(plain)
            first, last = (asyncio.create_task(add_shortly(plain)) for _ in range(2))
            for _ in range(at):
                await asyncio.sleep(0)
            last.cancel()
            ended = await asyncio.gather(first, last, return_exceptions=True)
            assert ended[0] is None
            assert await count(plain) - before in ((2,) if ended[1] is None else (1, 2))
    assert await count(plain) >= 12
    assert await plain.fetch_val(sa.select(COUNTER.c.id)) == 1


async def test_closing_the_database_ends_tasks_that_wait_for_a_commit(tmp_path: Path) -> None:
    db = Database(empty(tmp_path / "plain.db"))
    await db.connect()
    await make(db)
    inside, closed = asyncio.Event(), asyncio.Event()

    async def stay() -> None:
        async with writing(db, short=True):
            inside.set()
            await closed.wait()

    tasks = [asyncio.create_task(add_shortly(db)), asyncio.create_task(stay())]
    await inside.wait()
    await db.disconnect()
    closed.set()

    async with asyncio.timeout(20):
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(ended[0], driver.OperationalError)
    assert isinstance(ended[1], (ValueError, driver.Error))
