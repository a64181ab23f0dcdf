"""The backend for PostgreSQL: the guarantees of SQLite, also with concurrent sessions."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from counting import COUNTER, THINGS, add, count, make, whole

import direct_writes
from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import Busy
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.store import changes, driver
from lamplighter.repository.store.database import display_address, password_of
from lamplighter.repository.store.postgres import (
    BEGIN_WRITE,
    CONNECTION_ERRORS,
    READERS,
    SETTINGS,
    address,
    connect,
)
from lamplighter.repository.upkeep import migrate
from postgres_server import PostgresServer

PATIENCE_SECONDS = 60
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEAVING = """
import asyncio, sys
from lamplighter.repository import Database, reading, writing

async def hold(db, how, inside):
    async with how(db):
        inside.set()
        await asyncio.sleep(60)

async def main(url):
    db = Database(url)
    await db.connect()
    tasks = []
    for how in (writing, reading, reading):
        inside = asyncio.Event()
        tasks.append(asyncio.create_task(hold(db, how, inside)))
        await inside.wait()
    await db.disconnect()
    print("left", flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
async def plain(postgres_url: str) -> AsyncIterator[Database]:
    """Open a database with a counter at 0 and an empty table of things."""
    async with Database(postgres_url) as db:
        await make(db)
        yield db


async def test_random_cancellations_leave_data_and_pools_consistent(
    plain: Database,
) -> None:
    chance = random.Random(15)
    done = 0

    async def write() -> None:
        nonlocal done
        async with writing(plain):
            await add(plain)
            await add(plain)
        done += 1

    async def read() -> None:
        async with reading(plain):
            await count(plain)
            await count(plain)

    began = time.perf_counter()
    await write()
    longest = 2 * (time.perf_counter() - began)  # so some are cut, and some are done before
    done, committed = 0, 2
    for number in range(600):
        before = await count(plain)
        task = asyncio.create_task(read() if number % 3 == 0 else write())
        await asyncio.sleep(chance.random() * longest)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        after = await count(plain)
        assert after - before in (0, 2)
        committed += after - before

    assert committed > 2, "every one was cancelled before it could commit: the test shows nothing"
    assert done < 400, "none was cancelled: the test shows nothing"
    async with writing(plain):
        await add(plain)
    assert await count(plain) == committed + 1
    assert whole(plain) == (1, READERS)


async def test_write_outside_of_writing_fails(plain: Database) -> None:
    with pytest.raises(driver.OperationalError, match="read-only"):
        await plain.execute(sa.update(COUNTER).values(n=7))
    with pytest.raises(driver.OperationalError, match="read-only"):
        async with reading(plain):
            await plain.execute(sa.update(COUNTER).values(n=7))

    assert await count(plain) == 0
    assert whole(plain) == (1, READERS)


async def test_row_is_read_with_the_values_it_was_written_with(plain: Database) -> None:
    row = {
        "id": 2**62,
        "text": "ü %s :x $1 日本",
        "flag": True,
        "json": {"a": ["ü", None, 1.5]},
        "at": datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC),
        "weight": 0.7,
    }

    async with writing(plain):
        assert await plain.execute(sa.insert(THINGS).values(**row)) == 1
        returned = await plain.fetch_one(
            sa.update(THINGS)
            .where(THINGS.c.id.in_([2**62, 7]))
            .values(flag=False)
            .returning(THINGS)
        )

    assert dict(returned) == {**row, "flag": False}
    assert [dict(each) for each in await plain.fetch_all(sa.select(THINGS))] == [
        {**row, "flag": False}
    ]


async def test_nul_in_text_is_replaced_with_the_replacement_character(plain: Database) -> None:
    async with writing(plain):
        await plain.execute_many(
            sa.insert(THINGS), [{"id": 1, "text": "a\0b"}, {"id": 2, "text": "plain"}]
        )

    found = sa.select(THINGS.c.text).where(THINGS.c.text == "a\0b")
    assert await plain.fetch_val(found) == "a\ufffdb"
    assert await plain.execute(sa.text("SELECT 1")) == 1


async def test_writer_waits_for_another_writer_until_the_lock_timeout(
    plain: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        __import__("lamplighter.repository.store.postgres", fromlist=["x"]).SETTINGS,
        "lock_timeout",
        "200ms",
    )
    async with Database(postgres_url) as impatient:
        async with writing(plain):
            await add(plain)
            with pytest.raises(driver.OperationalError, match="lock timeout"):
                async with asyncio.timeout(20), _other_task_writes(impatient):
                    pass
            assert await count(impatient) == 0  # who only reads does not wait
        async with writing(impatient):
            await add(impatient)

    assert await count(plain) == 2


async def test_sequence_numbers_of_changes_are_in_commit_order(db_pair) -> None:  # type: ignore[no-untyped-def]
    one, two = db_pair
    seen: list[int] = []
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def late() -> None:
        async with writing(one):
            await changes.append(one, "memory", 1, ChangeOp.CREATED, now=NOW)
            inside.set()
            await go_on.wait()

    async def quick() -> None:
        async with writing(two):
            await changes.append(two, "memory", 2, ChangeOp.CREATED, now=NOW)

    first = asyncio.create_task(late())
    await inside.wait()
    second = asyncio.create_task(quick())
    for _ in range(20):
        seen += [each.seq for each in await changes.list_after(two, max(seen, default=0))]
        await asyncio.sleep(0.005)
    assert seen == [], "nothing is committed yet"
    go_on.set()
    await asyncio.gather(first, second)
    found = await changes.list_after(two, 0)

    assert [each.entity_id for each in found] == [1, 2]
    assert [each.seq for each in found] == sorted(each.seq for each in found)


async def test_reader_misses_no_change_of_eight_concurrent_writers(
    postgres_url: str,
) -> None:
    seen: list[int] = []
    async with Database(postgres_url) as reader:
        writers = [Database(postgres_url) for _ in range(8)]
        for writer in writers:
            await writer.connect()

        async def write(db: Database) -> None:
            for number in range(100):
                async with writing(db):
                    await changes.append(db, "memory", number, ChangeOp.CREATED, now=NOW)
                    await asyncio.sleep(0)

        working = asyncio.gather(*map(write, writers))
        while not working.done():
            seen += [each.seq for each in await changes.list_after(reader, max(seen, default=0))]
        seen += [each.seq for each in await changes.list_after(reader, max(seen, default=0))]
        held = [each.seq for each in await changes.list_after(reader, 0, limit=10_000)]
        for writer in writers:
            await writer.disconnect()

    assert seen == held
    assert len(held) == 800


async def test_process_exits_with_open_transactions(
    plain: Database,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    leaving = spawn(LEAVING, str(plain.url))

    said, errors = await asyncio.to_thread(leaving.communicate, timeout=30)

    assert (leaving.returncode, said) == (0, "left\n"), errors
    async with writing(plain):
        await add(plain)
    assert await count(plain) == 1


async def test_database_reconnects_after_a_server_restart() -> None:
    server = PostgresServer()
    try:
        url = server.create("away")
        direct_writes.run(
            url, "CREATE TABLE counter (id INTEGER, n INTEGER)", "INSERT INTO counter VALUES (1, 0)"
        )
        async with Database(url) as db:
            async with writing(db):
                await add(db)
            server.stop()
            for _ in range(READERS + 2):
                with pytest.raises(driver.OperationalError):
                    await count(db)
                with pytest.raises(driver.OperationalError):
                    async with writing(db):
                        await add(db)
            server.start()
            async with writing(db):
                await add(db)
            assert await count(db) == 2
    finally:
        server.remove()


@pytest.mark.parametrize("how", [writing, reading], ids=["writing", "reading"])
async def test_connection_lost_within_a_transaction_raises_and_is_replaced(
    plain: Database,
    how: Callable[[Database], AbstractAsyncContextManager[None]],
) -> None:
    async def cut() -> None:
        async with how(plain):
            pid = await plain.fetch_val("SELECT pg_backend_pid()")
            await asyncio.to_thread(
                direct_writes.run, str(plain.url), f"SELECT pg_terminate_backend({pid})"
            )
            await asyncio.sleep(0.1)
            await count(plain)

    for _ in range(READERS + 2):
        with pytest.raises(driver.OperationalError):
            await cut()

    assert whole(plain) == (1, READERS)
    async with writing(plain):
        await add(plain)
    assert await count(plain) == 1


async def test_database_recovers_from_a_disconnect_at_any_moment(
    plain: Database, postgres_url: str
) -> None:
    chance = random.Random(7)
    done = cuts = 0

    async def write() -> None:
        nonlocal done
        with suppress(driver.OperationalError):
            async with writing(plain):
                await add(plain)
            done += 1

    async def read() -> None:
        with suppress(driver.OperationalError):
            async with reading(plain):
                await count(plain)
                await count(plain)

    async with Database(postgres_url) as other:
        cutting = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        for _ in range(60):
            working = [asyncio.create_task(work()) for work in (write, read, write, read, read)]
            await asyncio.sleep(chance.random() * 0.006)
            cuts += int(await other.fetch_val(cutting))
            await asyncio.gather(*working)

    held = await count(plain)
    assert cuts > 60, "hardly anything was cut: the test shows nothing"
    assert 0 < done <= held <= 120, "what was told as done is there"
    assert whole(plain) == (1, READERS)


async def test_connect_fails_for_a_missing_database(postgres: PostgresServer) -> None:
    db = Database(postgres.url("absent"))

    with pytest.raises(driver.OperationalError, match='database "absent" does not exist'):
        await db.connect()

    assert not db.is_connected


async def test_limits_of_a_database_do_not_apply_to_single_connections(
    plain: Database, postgres: PostgresServer, postgres_url: str
) -> None:
    name = plain.url.database
    postgres.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres.ask(f"ALTER DATABASE {name} SET statement_timeout = '1ms'")

    connection = await connect(postgres_url)

    await connection.execute("CREATE TABLE beats (at integer); SELECT pg_sleep(0.01)")
    await connection.execute("DROP TABLE beats")
    await connection.close()


def test_server_without_connections_left_is_temporarily_unusable(
    postgres: PostgresServer, postgres_url: str
) -> None:
    postgres.ask("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    try:
        with pytest.raises(Busy, match=r"too many connections .*\. Give the server more conn"):
            migrate.revision_of(postgres_url.replace("postgres@", "crowded@"))
    finally:
        postgres.ask("DROP ROLE crowded")


async def test_full_disk_of_the_server_is_recognized_and_named_in_one_line(
    plain: Database,
) -> None:
    fails = "DO $$ BEGIN RAISE disk_full USING MESSAGE = 'no space left', HINT = 'Free.'; END $$"

    with pytest.raises(driver.OperationalError) as caught:
        async with writing(plain):
            await plain.execute(sa.text(fails))

    assert driver.disk_is_full(caught.value)
    assert str(caught.value) == "no space left"


async def test_value_out_of_range_raises_a_data_error(plain: Database) -> None:
    with pytest.raises(asyncpg.DataError):
        await plain.fetch_all(sa.select(THINGS).where(THINGS.c.id == 2**70))

    assert whole(plain) == (1, READERS)


@pytest.mark.parametrize(
    ("url", "to_read", "password"),
    [
        ("postgresql://lamp:s3cret%40@db.home:5433/lamp", "lamp at db.home", "s3cret@"),
        ("postgresql+asyncpg://lamp@db/lamp", "lamp at db", None),
        ("postgresql://lamp@/lamp?host=/run/pg&password=abc", "lamp at /run/pg", "abc"),
        ("sqlite:////var/lib/lamp%20lighter/x.db", "/var/lib/lamp lighter/x.db", None),
    ],
)
def test_display_address_omits_the_password(url: str, to_read: str, password: str | None) -> None:
    assert display_address(url) == to_read
    assert password_of(url) == password
    assert address(url).partition(":")[0] in ("postgresql", "sqlite")


@pytest.mark.parametrize("where", ["between messages", "before it reads a result", "idle"])
async def test_suspended_writer_does_not_block_others(
    plain: Database, postgres_url: str, where: str
) -> None:
    stopped = await asyncpg.connect(address(postgres_url), server_settings=SETTINGS)
    await stopped.execute(BEGIN_WRITE)
    reading: asyncio.Task[str] | None = None
    if where == "between messages":  # the server waits for the rest of the statement
        await stopped.prepare("UPDATE things SET text = 'never'")
    if where == "before it reads a result":  # the server waits until it can send the rest
        reading = asyncio.create_task(stopped.execute("SELECT repeat('x', 50000000)"))
        await asyncio.sleep(0)
        stopped._transport.pause_reading()
    began = time.monotonic()

    refused = 0
    while True:
        try:
            async with writing(plain):
                await add(plain)
            break
        except driver.OperationalError:
            refused += 1
            assert time.monotonic() - began < PATIENCE_SECONDS, "others wait for ever"

    assert refused, "it had 10 s to go on"
    assert await count(plain) == 1
    if reading is not None:
        stopped._transport.resume_reading()
    with pytest.raises(CONNECTION_ERRORS):
        await (reading or stopped.fetchval("SELECT 1"))
    stopped.terminate()


@pytest.mark.parametrize("name", ["100%", 'it\'s "odd" ü'])
async def test_database_name_may_contain_any_characters(
    postgres: PostgresServer, name: str
) -> None:
    from urllib.parse import quote

    postgres.ask('CREATE DATABASE "' + name.replace('"', '""') + '"')
    async with Database(postgres.url(quote(name))) as db:
        assert await db.fetch_val("SELECT current_database()") == name


@pytest.fixture
async def db_pair(postgres_url: str) -> AsyncIterator[tuple[Database, Database]]:
    """Open one database twice, like two processes."""
    async with Database(postgres_url) as one, Database(postgres_url) as two:
        yield one, two


class _other_task_writes:  # noqa: N801 - it reads as a step of the test
    """A write in another task, during a transaction of this task."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def __aenter__(self) -> None:
        async def work() -> None:
            async with writing(self._db):
                await add(self._db)

        await asyncio.create_task(work())

    async def __aexit__(self, *_: object) -> None:
        return None


def test_server_is_removed_after_its_process_is_killed(
    spawn,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    holder = spawn(
        "import sys, time\nfrom postgres_server import PostgresServer\n"
        "server = PostgresServer()\n"
        "print(server.root, server._process.pid, flush=True)\ntime.sleep(60)"
    )
    root, pid = holder.stdout.readline().split()

    holder.kill()
    holder.wait(30)

    for _ in range(1_000):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text():
            break
        __import__("time").sleep(0.01)
    else:
        raise AssertionError("the server outlives its test run")
    from postgres_server import sweep

    sweep()
    assert not Path(root).exists()
