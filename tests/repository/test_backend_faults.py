"""The backend under stress: cancelled at every await, shared, slow, and left open at the end."""

import asyncio
import random
import threading
import time
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from counting import empty

from lamplighter.repository import Database, reading, writing
from lamplighter.repository.store import backend, driver
from lamplighter.repository.store.backend import READERS, PooledBackend
from lamplighter.repository.store.database import file_of
from thorough import examples

COUNTER = sa.table("counter", sa.column("id"), sa.column("n"))
CANCELS = 600
SMALL_WRITES = examples(60_000)
WAL_BYTES = 16 * 2**20
NUMBERS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
    " SELECT count(*) FROM n"
)
SLOW = NUMBERS.format(2_000_000)
HOURS = NUMBERS.format(10**11)
LEAVES_OPEN = """
import asyncio, os, sys
from lamplighter.repository import Database, reading, writing

SLOW = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000)"
        " SELECT count(*) FROM n")

async def stays(way, db):
    async with way(db):
        await db.fetch_val("SELECT n FROM counter")
        if way is writing:
            await db.execute("UPDATE counter SET n = 99")
        print("open", flush=True)
        await asyncio.sleep(3600)

async def main(url, ends):
    db = Database(url)
    await db.connect()
    tasks = [asyncio.create_task(stays(way, db)) for way in (reading, writing, reading)]
    tasks.append(asyncio.create_task(db.fetch_val(SLOW)))
    await asyncio.sleep(0.5)
    if ends == "error":
        raise RuntimeError("on purpose")
    if ends == "exit":
        sys.exit(3)
    if ends == "interrupt":
        os.kill(os.getpid(), 2)
        await asyncio.sleep(3600)

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


@pytest.fixture
async def counting(tmp_path: Path) -> AsyncIterator[Database]:
    """Open a database with a counter at 0."""
    async with Database(empty(tmp_path / "counting.db")) as db:
        async with writing(db):
            await db.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
            await db.execute("INSERT INTO counter VALUES (1, 0)")
            await db.execute("CREATE TABLE notes (text TEXT)")
        yield db


async def count(db: Database) -> int:
    return int(await db.fetch_val(sa.select(COUNTER.c.n)))


async def add_two(db: Database) -> None:
    """Read and write twice in one transaction: 2 are added, or none."""
    async with writing(db):
        for _ in range(2):
            held = await count(db)
            await asyncio.sleep(0)
            await db.execute(sa.update(COUNTER).values(n=held + 1))


async def add_two_within(db: Database) -> None:
    """Add 2 in parts: in nested transactions, one of which fails."""
    async with writing(db):
        async with db.transaction():
            await db.execute(sa.update(COUNTER).values(n=COUNTER.c.n + 1))
        with suppress(ZeroDivisionError):
            async with db.transaction():
                await db.execute(sa.update(COUNTER).values(n=1_000))
                raise ZeroDivisionError
        async with writing(db):
            await db.execute(sa.update(COUNTER).values(n=COUNTER.c.n + 1))


async def look(db: Database) -> None:
    """Read twice from one snapshot, and once from another."""
    async with reading(db):
        before = await count(db)
        assert await count(db) == before
    await count(db)


async def fail(db: Database) -> None:
    """Write twice and then fail, with a rollback."""
    with suppress(ZeroDivisionError):
        async with writing(db):
            for _ in range(2):
                await db.execute(sa.update(COUNTER).values(n=COUNTER.c.n + 1_000))
            raise ZeroDivisionError


async def add_two_shortly(db: Database) -> None:
    """Add 2 in a transaction whose commit may end others too."""
    async with writing(db, short=True):
        await add_two(db)


WORKS = (add_two, add_two_within, add_two_shortly, look, fail)
Work = Callable[[Database], Awaitable[None]]


def whole(db: Database) -> tuple[int, int]:
    """Return the number of free writers and readers."""
    backend = db._backend
    assert isinstance(backend, PooledBackend)
    return backend.writers._free.qsize(), backend.readers._free.qsize()


async def settled(db: Database) -> tuple[int, int]:
    """Return the same numbers after the rollback of all interrupted connections."""
    backend = db._backend
    assert isinstance(backend, PooledBackend)
    ending = backend.writers._ending | backend.readers._ending
    if ending:
        await asyncio.wait(ending, timeout=10)
    return whole(db)


async def cancelled_at(work: Awaitable[None], at: int) -> bool:
    """Run some work and cancel it exactly at its `at`-th wait.

    Returns False if there are fewer waits.
    """
    return await _cancelled_at(work, at)


@types.coroutine
def _cancelled_at(work: Awaitable[None], at: int) -> Generator[Any, None, bool]:
    steps, waits = work.__await__(), 0
    go_on: Callable[[], Any] = partial(next, steps)
    while True:
        try:
            waiting = go_on()
        except StopIteration:
            return waits >= at
        waits += 1
        if waits == at:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        try:
            yield waiting
            go_on = partial(next, steps)
        except BaseException as error:
            go_on = partial(steps.throw, error)


async def test_cancelled_write_waiting_for_another_process_leaves_data_consistent(
    counting: Database,
) -> None:
    other = driver.connect(str(file_of(str(counting.url))))
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(add_two(counting))
    await asyncio.sleep(0.02)

    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    other.close()

    assert await settled(counting) == (1, READERS)
    await add_two(counting)
    assert await count(counting) == 2


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
async def test_cancellation_at_any_await_leaves_transactions_complete_or_rolled_back(
    counting: Database, work: Work
) -> None:
    at, before = 0, await count(counting)
    finished = False
    while not finished:
        at += 1
        task = asyncio.create_task(cancelled_at(work(counting), at))
        with suppress(asyncio.CancelledError):
            finished = not await task
        assert await settled(counting) == (1, READERS), f"cancelled at await {at}"
        after = await count(counting)
        assert after - before in (0, 2), f"cancelled at await {at}"
        before = after

    assert at >= 4, "it hardly waits: the test shows nothing"
    await add_two(counting)
    assert await count(counting) == before + 2


async def test_random_cancellations_leave_data_and_pool_consistent(
    counting: Database,
) -> None:
    chance = random.Random(600)
    ended = dict.fromkeys(("whole", "cancelled"), 0)
    # At most so many seconds pass before a cancellation. They grow while works are cancelled and
    # shrink while they end whole, so that both happen at any speed of the machine.
    longest = dict.fromkeys(WORKS, 0.002)
    expected = await count(counting)
    for number in range(CANCELS):
        work, timed = chance.choice(WORKS), number % 2
        task = asyncio.ensure_future(work(counting))
        if timed:
            await asyncio.sleep(chance.random() * longest[work])
        else:
            for _ in range(chance.randrange(30)):
                await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        ended["cancelled" if task.cancelled() else "whole"] += 1
        if timed:
            longest[work] *= 1.25 if task.cancelled() else 0.8
        after = await count(counting)
        assert after - expected in (0, 2), f"cancel {number}"
        expected = after

    assert min(ended.values()) > CANCELS // 20, f"one way hardly happened: {ended}"
    assert await settled(counting) == (1, READERS), ended
    assert not counting.in_transaction
    await add_two(counting)
    assert await count(counting) == expected + 2


async def test_concurrent_cancellations_leave_data_and_pool_consistent(counting: Database) -> None:
    chance = random.Random(60)
    for _ in range(20):
        tasks = [asyncio.ensure_future(chance.choice(WORKS)(counting)) for _ in range(20)]
        await asyncio.sleep(chance.random() * 0.004)
        for task in chance.sample(tasks, 15):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert await settled(counting) == (1, READERS)
    assert await count(counting) % 2 == 0


def log_size(db: Database) -> int:
    return Path(f"{file_of(str(db.url))}-wal").stat().st_size


async def note(db: Database, times: int, size: int = 100) -> int:
    """Make small writes in separate transactions; return the largest size of the log."""
    largest = 0
    for number in range(times):
        async with writing(db):
            await db.execute("INSERT INTO notes VALUES (:text)", {"text": "x" * size})
        if number % 200 == 0:
            largest = max(largest, log_size(db))
    return max(largest, log_size(db))


async def test_wal_size_is_bounded_under_many_writes_with_readers(
    counting: Database,
) -> None:
    done = asyncio.Event()
    looks = 0

    async def keep_looking() -> None:
        nonlocal looks
        while not done.is_set():
            async with reading(counting):  # one of them reads at any moment
                await look(counting)
                looks += 1
                await asyncio.sleep(0.01)

    readers = [asyncio.create_task(keep_looking()) for _ in range(READERS)]
    largest = await note(counting, SMALL_WRITES)
    done.set()
    await asyncio.gather(*readers)

    assert looks > 100, f"only {looks} looks beside the writes: the test shows nothing"
    assert largest < WAL_BYTES, f"{largest:,} bytes, {looks} looks beside the writes"


async def test_wal_is_truncated_after_a_long_reading_transaction(counting: Database) -> None:
    async with reading(counting):
        before = await count(counting)
        grown = await asyncio.create_task(note(counting, 300, size=100_000))
        assert await count(counting) == before

    await note(counting, 1_100)  # the next checkpoint begins the log anew

    assert grown > WAL_BYTES, f"only {grown:,} bytes: the test shows nothing"
    assert log_size(counting) <= WAL_BYTES, f"{log_size(counting):,} of {grown:,} bytes are left"


async def test_slow_readers_delay_other_readers_but_no_writer(counting: Database) -> None:
    slow = [asyncio.create_task(counting.fetch_val(SLOW)) for _ in range(READERS)]
    await asyncio.sleep(0.01)
    late = asyncio.create_task(count(counting))

    for _ in range(5):
        await add_two(counting)

    assert not any(each.done() for each in slow), "they were not slow: the test shows nothing"
    assert not late.done()
    assert await asyncio.gather(*slow) == [2_000_000] * READERS
    assert await late == 10
    assert whole(counting) == (1, READERS)


@pytest.mark.parametrize("after", [0, 0.05], ids=["at once", "while it runs"])
async def test_abandoned_slow_statement_is_ended(counting: Database, after: float) -> None:
    slow = [asyncio.create_task(counting.fetch_val(HOURS)) for _ in range(READERS)]
    await asyncio.sleep(after)
    for task in slow:
        task.cancel()

    async with asyncio.timeout(20):
        await asyncio.gather(*slow, return_exceptions=True)
        assert await asyncio.gather(*(count(counting) for _ in range(READERS))) == [0] * READERS
    assert await settled(counting) == (1, READERS)


@pytest.mark.parametrize("how", [reading, writing])
async def test_cancelled_slow_transaction_does_not_block_writers(
    counting: Database, how: Callable[[Database], AbstractAsyncContextManager[None]]
) -> None:
    async def work() -> None:
        async with how(counting):
            await counting.fetch_val(HOURS)

    slow = asyncio.create_task(work())
    await asyncio.sleep(0.05)
    slow.cancel()

    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await slow
        await add_two(counting)
    assert await settled(counting) == (1, READERS)
    assert await count(counting) == 2


@pytest.mark.parametrize(
    ("ends", "status"), [("return", 0), ("error", 1), ("exit", 3), ("interrupt", -2)]
)
async def test_process_exits_with_open_transactions(
    counting: Database,
    spawn,  # type: ignore[no-untyped-def]
    ends: str,
    status: int,
) -> None:
    process = spawn(LEAVES_OPEN, str(counting.url), ends)

    said, errors = await asyncio.to_thread(process.communicate, timeout=30)

    assert said == "open\n" * 3
    assert process.returncode == status, errors
    assert await count(counting) == 0
    await add_two(counting)


async def test_database_closes_with_open_transactions(counting: Database) -> None:
    async with Database(str(counting.url)) as other:
        held = [asyncio.create_task(stays(way, other)) for way in (reading, writing)]
        held.append(asyncio.create_task(other.fetch_val(HOURS)))
        await asyncio.sleep(0.1)
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)

    assert [thread.name for thread in threading.enumerate() if "aiosqlite" in thread.name] == []
    await add_two(counting)
    assert await count(counting) == 2


async def test_database_closes_if_a_statement_has_not_begun_yet(counting: Database) -> None:
    other = Database(str(counting.url))
    await other.connect()
    readers = list(other._backend.readers._all)  # type: ignore[attr-defined]
    busy = [asyncio.ensure_future(each._execute(time.sleep, 0.3)) for each in readers]
    held = asyncio.create_task(other.fetch_val(HOURS))
    await asyncio.sleep(0.1)

    closing = asyncio.create_task(other.disconnect())

    closed, _ = await asyncio.wait({closing}, timeout=30)
    for each in readers:
        backend.interrupt(each)  # a failed test must not leave the statement running
    await asyncio.gather(held, closing, *busy, return_exceptions=True)
    assert closed


async def stays(way: Any, db: Database) -> None:
    async with way(db):
        await count(db)
        await asyncio.sleep(3_600)


async def test_writer_that_cannot_begin_returns_its_connection(counting: Database) -> None:
    other = driver.connect(str(file_of(str(counting.url))))
    other.execute("BEGIN IMMEDIATE")
    for connection in counting._backend.writers._all:  # type: ignore[attr-defined]
        await connection.execute("PRAGMA busy_timeout=10")

    for _ in range(3):
        with pytest.raises(driver.OperationalError, match="locked"):
            await add_two(counting)
    assert await settled(counting) == (1, READERS)
    other.execute("ROLLBACK")
    other.close()

    await add_two(counting)
    assert await count(counting) == 2
