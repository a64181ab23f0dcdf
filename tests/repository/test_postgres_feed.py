"""The feed and the lease on PostgreSQL: no change missed, and one supervisor at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg
import pytest

import direct_writes
from lamplighter.domain.change import ChangeOp
from lamplighter.domain.errors import LeadershipLost
from lamplighter.repository import Database, writing
from lamplighter.repository.feed.postgres_signals import PostgresListener
from lamplighter.repository.feed.signals import Listener, create_listener
from lamplighter.repository.store import changes
from lamplighter.repository.store.postgres import BEGIN_WRITE, connect
from lamplighter.repository.upkeep import leases, migrate
from lamplighter.repository.upkeep.lease_postgres import PostgresLock
from postgres_server import PostgresServer

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CUT = (asyncpg.PostgresError, asyncpg.InterfaceError)
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
COMMIT = """
import asyncio, sys
from datetime import UTC, datetime
from lamplighter.domain.change import ChangeOp
from lamplighter.repository import Database, writing
from lamplighter.repository.store import changes

async def main(url):
    async with Database(url) as db:
        async with writing(db):
            await changes.append(db, "memory", 1, ChangeOp.CREATED, now=datetime.now(UTC))

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """Start a server for this test alone, with one database at the newest revision."""
    started = PostgresServer()
    try:
        migrate.upgrade(started.create("own"))
        yield started
    finally:
        started.remove()


async def commit(db: Database) -> None:
    async with writing(db):
        await changes.append(db, "memory", 1, ChangeOp.CREATED, now=NOW)


async def fail(db: Database) -> None:
    async with writing(db):
        await changes.append(db, "memory", 1, ChangeOp.CREATED, now=NOW)
        raise ZeroDivisionError


async def until(true: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until a condition is true, at most 30 s."""
    async with asyncio.timeout(30):
        while True:
            found = true()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)  # nobody tells of it


def test_create_listener_returns_the_listener_of_the_database_kind(tmp_path: Path) -> None:
    assert isinstance(create_listener("postgresql://a@b/c", tmp_path), PostgresListener)
    assert isinstance(create_listener("sqlite:////x.db", tmp_path), Listener)


async def test_commit_of_another_process_wakes_the_listener(postgres_url: str, spawn) -> None:  # type: ignore[no-untyped-def]
    async with PostgresListener(postgres_url) as listener:
        spawn(COMMIT, postgres_url)
        assert await listener.wait(30)
        assert not await listener.wait(0.3)


async def test_unchanged_or_rolled_back_writes_do_not_wake_the_listener(postgres_url: str) -> None:
    async with PostgresListener(postgres_url) as listener, Database(postgres_url) as db:
        async with writing(db):
            pass
        with pytest.raises(ZeroDivisionError):
            await fail(db)
        assert not await listener.wait(0.3)
        await commit(db)
        assert await listener.wait(30)


async def test_wake_before_wait_is_not_lost(postgres_url: str) -> None:
    async with PostgresListener(postgres_url) as listener:
        listener.wake()
        assert await listener.wait(0.5)
        assert not await listener.wait(0.1)


async def test_listener_reconnects_and_wakes_after_a_server_restart(
    server: PostgresServer,
) -> None:
    async with PostgresListener(server.url("own")) as listener:
        server.stop()
        await until(lambda: listener._connection is None)
        server.start()
        assert await listener.wait(30), "it wakes to look at what came meanwhile"
        async with Database(server.url("own")) as db:
            await until(lambda: listener._connection is not None)
            await listener.wait(0.2)
            await commit(db)
            assert await listener.wait(30)


async def test_listener_reopens_a_lost_connection(
    postgres: PostgresServer, postgres_url: str
) -> None:
    async with PostgresListener(postgres_url) as listener, Database(postgres_url) as db:
        held = listener._connection
        postgres.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE 'LISTEN%' AND datname = current_database()",
            database=db.url.database,
        )
        assert await listener.wait(30)
        await until(lambda: listener._connection not in (None, held))
        await commit(db)
        assert await listener.wait(30)


async def test_lock_is_owned_by_one_supervisor_until_its_connection_ends(
    postgres: PostgresServer, postgres_url: str
) -> None:
    one, two = PostgresLock(postgres_url), PostgresLock(postgres_url)
    assert (await one.take(), await one.take(), one.owned) == (True, True, True)
    assert (await two.take(), two.owned) == (False, False)

    postgres.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database()",
        database=Database(postgres_url).url.database,
    )
    await until(two.take)
    await until(lambda: not one.owned)
    assert not await one.take()

    await two.release()
    await until(one.take)
    await one.release()


async def test_concurrent_takes_of_one_lock_keep_it_owned(
    postgres_url: str,
) -> None:
    lock, other = PostgresLock(postgres_url), PostgresLock(postgres_url)

    assert await asyncio.gather(*(lock.take() for _ in range(5))) == [True] * 5

    assert lock.owned
    assert not await other.take()
    await lock.release()
    await until(other.take)
    await other.release()


async def test_lock_is_not_freed_from_a_leader_with_a_newer_heartbeat(postgres_url: str) -> None:
    lock, other = PostgresLock(postgres_url), PostgresLock(postgres_url)
    async with Database(postgres_url) as db:
        assert await lock.take()
        async with writing(db):
            read = await leases.acquire(
                db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOW
            )
        await lock.beat(db, read.epoch, now=NOW + timedelta(seconds=5))

        assert not await other.free_from(read)
        assert not await other.take()

        latest = await leases.get(db)
        assert latest == replace(read, heartbeat_at=NOW + timedelta(seconds=5))
        assert await other.free_from(latest)
        await until(other.take)
        await until(lambda: not lock.owned)
        await other.release()


async def test_freeing_the_lock_ends_the_write_transactions_of_the_leader(
    postgres_url: str,
) -> None:
    """For a leader that hangs during a write, in any state that the server reports."""
    lock, other = PostgresLock(postgres_url), PostgresLock(postgres_url)
    async with Database(postgres_url) as db:
        assert await lock.take()
        async with writing(db):
            read = await leases.acquire(
                db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOW
            )
        stuck, waiting = await connect(postgres_url), await connect(postgres_url)
        await stuck.execute(BEGIN_WRITE)
        await stuck.prepare("UPDATE leases SET pid = 7")  # the server waits for the next message
        behind = asyncio.create_task(waiting.execute(BEGIN_WRITE))
        await until(lambda: bool(direct_writes.run(postgres_url, WAITING)))

        assert await other.free_from(read)

        assert await other.take(), "the lock is free at once"
        async with writing(db):
            latest = await leases.get(db)
        assert latest == read
        await asyncio.wait({behind})  # it may have been its turn for a moment
        with pytest.raises(CUT):
            await waiting.execute("COMMIT")
        assert waiting.is_closed()
        with pytest.raises(CUT):
            await stuck.execute("COMMIT")
        await other.release()


async def test_freeing_the_lock_keeps_the_writers_of_other_processes(postgres_url: str) -> None:
    lock, other = PostgresLock(postgres_url), PostgresLock(postgres_url)
    async with Database(postgres_url) as db:
        assert await lock.take()
        async with writing(db):
            read = await leases.acquire(
                db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOW
            )
    writer = await connect(postgres_url, application_name="lamplighter 2 another process")
    await writer.execute(BEGIN_WRITE)

    assert await other.free_from(read)

    assert await writer.execute("COMMIT") == "COMMIT"
    await writer.close()
    await until(lambda: not lock.owned)


async def test_heartbeat_of_an_earlier_epoch_is_refused(postgres_url: str) -> None:
    lock = PostgresLock(postgres_url)
    async with Database(postgres_url) as db:
        assert await lock.take()
        for _ in range(2):
            async with writing(db):
                await leases.acquire(
                    db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOW
                )

        with pytest.raises(LeadershipLost):
            await lock.beat(db, 1, now=NOW)
        await lock.beat(db, 2, now=NOW)
    await lock.release()


async def test_write_of_a_supervisor_of_an_earlier_epoch_is_refused(db: Database, url: str) -> None:
    async with Database(url) as former:
        epochs = []
        for each in (former, db):
            async with writing(each):
                leader = await leases.acquire(
                    each, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=NOW
                )
            each.fence = partial(leases.ensure_leader, each, leader.epoch)
            epochs.append(leader.epoch)
        before = await changes.last_seq(db)

        with pytest.raises(LeadershipLost, match=r"Another supervisor is the leader \(epoch 2\)"):
            await commit(former)
        await commit(db)

    assert epochs == [1, 2]
    assert await changes.last_seq(db) == before + 1
