"""A hung leader on PostgreSQL is replaced after its last heartbeat, and fenced off."""

import asyncio
import itertools
import json
import signal
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import asyncpg
import psutil
import sqlalchemy as sa
from homes import Home, rows, there

from lamplighter.domain.services.leader import HEARTBEAT, HUNG, Leader
from lamplighter.repository import Database, writing
from lamplighter.repository.store.postgres import LOCK_NAMESPACE, WRITER
from lamplighter.repository.upkeep import leases
from lamplighter.repository.upkeep.lease_postgres import PostgresLock
from lamplighter.supervisor.heartbeat import Heartbeat, HeartbeatWatch
from living import free_port

PROMISED_SECONDS = 20
SLOW_SECONDS = 9  # with the 5 s between two heartbeats it is less than the 15 s of a hang
WRITER_IN_STATE = (
    "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.granted"
    f" AND l.classid = {LOCK_NAMESPACE} AND l.objid = {WRITER} AND a.datname = current_database()"
)


def leader(heartbeat: float) -> Leader:
    """Return the row of a leader with its heartbeat at this second."""
    return Leader(
        epoch=1,
        pid=1,
        engine="probe",
        interval_seconds=60,
        dry_run=False,
        session_id=None,
        heartbeat_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=heartbeat),
        next_round_at=None,
    )


def log(home: Home) -> str:
    return (home.path / "log").read_text()


def test_hung_leader_is_replaced_and_fenced(kept: Home) -> None:
    kept.engine("numbered", "100000", "0.2")
    first = kept.start("supervisor")
    kept.until(lambda: there(kept, "SELECT 1 FROM memories"))
    engines = kept.left_over()
    assert engines
    second = kept.start("supervisor")
    kept.until(lambda: "is on standby" in log(kept))

    first.send_signal(signal.SIGSTOP)
    taken = f"SELECT 1 FROM leases WHERE epoch = 2 AND pid = {second.pid}"
    kept.until(lambda: there(kept, taken))
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE id = 2 AND status = 'running'"))
    assert not set(engines) & set(kept.left_over()), "its engines have ended though it hangs"
    ended = "SELECT status, version, log_offset FROM sessions WHERE id = 1"
    kept.until(lambda: rows(kept, ended)[0][0] != "running")
    before = rows(kept, ended)
    assert before[0][0] == "interrupted"
    assert there(kept, "SELECT 1 FROM events WHERE text LIKE '%sent no heartbeat%'")
    assert psutil.Process(first.pid).status() == psutil.STATUS_STOPPED

    first.send_signal(signal.SIGCONT)
    kept.until(lambda: "Sessions and actions here were stopped" in log(kept))
    kept.until(lambda: log(kept).count("is on standby") == 2)

    assert first.poll() is None, "it is on standby in its turn"
    assert rows(kept, ended) == before
    assert rows(kept, "SELECT epoch, pid FROM leases") == [(2, second.pid)]


def test_action_of_a_hung_leader_ends_before_another_one_may_start(kept: Home) -> None:
    acted, start = kept.path / "acted", "echo started >> acted; exec sleep 60"
    action = {"restart": ["/bin/sh", "-c", start], "directory": str(kept.path)}
    web = {"checks": [{"tcp": f"127.0.0.1:{free_port()}", "retries": 0}], "actions": [action]}
    (kept.path / "services.yaml").write_text(json.dumps({"services": {"web": web}}))
    first = kept.start("supervisor")
    kept.until(acted.exists)
    acting = kept.left_over()
    kept.engine("lines", "[EVENT:info] here")
    kept.start("supervisor")
    kept.until(lambda: "is on standby" in log(kept))

    first.send_signal(signal.SIGSTOP)
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE id = 3 AND status <> 'running'"))

    assert not set(acting) & set(kept.left_over())
    assert rows(kept, "SELECT outcome FROM cooldowns") == [("abandoned",)]
    first.send_signal(signal.SIGCONT)
    kept.until(lambda: "Sessions and actions here were stopped" in log(kept))
    assert acted.read_text() == "started\n"


async def test_leader_hung_during_a_write_is_replaced(kept: Home) -> None:
    kept.engine("numbered", "100000", "0.2")
    url = kept.env["LAMPLIGHTER_DATABASE_URL"]
    test = await asyncpg.connect(url)
    await test.execute("BEGIN; LOCK TABLE markers IN ACCESS EXCLUSIVE MODE")
    first = kept.start("supervisor")
    kept.until(lambda: there(kept, f"{WRITER_IN_STATE} AND a.wait_event_type = 'Lock'"))
    first.send_signal(signal.SIGSTOP)
    second = kept.start("supervisor")
    began = time.monotonic()
    await test.execute("ROLLBACK")
    await test.close()
    assert there(kept, f"{WRITER_IN_STATE} AND a.state = 'active' AND a.wait_event = 'ClientRead'")

    led = f"SELECT 1 FROM leases WHERE epoch = 2 AND pid = {second.pid}"
    kept.until(lambda: there(kept, led), PROMISED_SECONDS - (time.monotonic() - began))

    first.send_signal(signal.SIGCONT)
    kept.until(lambda: "Sessions and actions here were stopped" in log(kept))
    assert rows(kept, "SELECT epoch, pid FROM leases") == [(2, second.pid)]
    twice = 'SELECT count(*) - count(DISTINCT (session_id, "offset", item)) FROM markers'
    assert rows(kept, twice) == [(0,)]


def test_slow_leader_remains_the_leader(kept: Home) -> None:
    kept.engine("hangs")
    first = kept.start("supervisor")
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE status = 'running'"))
    kept.start("supervisor")
    kept.until(lambda: "is on standby" in log(kept))

    first.send_signal(signal.SIGSTOP)
    before = rows(kept, "SELECT heartbeat_at FROM leases")
    time.sleep(SLOW_SECONDS)
    first.send_signal(signal.SIGCONT)
    kept.until(lambda: rows(kept, "SELECT heartbeat_at FROM leases") != before)

    assert rows(kept, "SELECT epoch, pid FROM leases") == [(1, first.pid)]
    assert there(kept, "SELECT 1 FROM sessions WHERE id = 1 AND status = 'running'")


async def test_leader_sends_its_heartbeat_while_the_database_is_busy(kept: Home) -> None:
    kept.engine("hangs")
    kept.start("supervisor")
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE status = 'running'"))
    before = rows(kept, "SELECT heartbeat_at FROM leases")

    other = await asyncpg.connect(kept.env["LAMPLIGHTER_DATABASE_URL"])
    await other.execute(
        f"SELECT pg_advisory_lock({LOCK_NAMESPACE}, {WRITER})"
    )  # nobody else can write now
    kept.until(lambda: rows(kept, "SELECT heartbeat_at FROM leases") != before)
    await other.close()

    assert rows(kept, "SELECT epoch FROM leases") == [(1,)]


async def test_failed_heartbeat_is_retried_before_the_timeout(postgres_url: str) -> None:
    lock, heartbeat = PostgresLock(postgres_url), Heartbeat()
    async with Database(postgres_url) as db:
        assert await lock.take()
        async with writing(db):
            led = await leases.acquire(
                db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=datetime.now(UTC)
            )
        other = await asyncpg.connect(postgres_url)
        await other.execute("BEGIN; SELECT 1 FROM leases FOR UPDATE")
        heartbeat.start(lock, db, led.epoch, partial(datetime.now, UTC))
        await asyncio.sleep((2 * HEARTBEAT).total_seconds())  # one has waited in vain for 5 s
        await asyncio.sleep(0.5)
        await other.close()
        async with asyncio.timeout((HUNG - 2 * HEARTBEAT).total_seconds() - 1):
            while await leases.get(db) == led:  # noqa: ASYNC110 - nobody tells of a heartbeat
                await asyncio.sleep(0.05)
        await heartbeat.stop()
    await lock.release()


class SlowToReport(PostgresLock):
    """A lock that is free for half a second before its release is reported."""

    async def free_from(self, leader: Leader) -> bool:
        freed = await super().free_from(leader)
        await asyncio.sleep(0.5)
        return freed


async def test_replacement_of_a_hung_leader_is_recorded_as_an_event(
    postgres_url: str,
) -> None:
    hung, free = PostgresLock(postgres_url), SlowToReport(postgres_url)
    clock = (5.0 * second for second in itertools.count())
    watch = HeartbeatWatch(monotonic=lambda: next(clock))
    async with Database(postgres_url) as db:
        assert await hung.take()
        async with writing(db):
            await leases.acquire(
                db, pid=1, engine="probe", interval_seconds=60, dry_run=False, now=datetime.now(UTC)
            )
        following = asyncio.create_task(watch.follow(db, free))
        async with asyncio.timeout(10):
            while not await free.take():  # noqa: ASYNC110 - it is free before it is reported
                await asyncio.sleep(0.05)
        await watch.note(db, now=datetime.now(UTC))
        following.cancel()

        texts = [row["text"] for row in await db.fetch_all(sa.text("SELECT text FROM events"))]
    await free.release()
    assert len(texts) == 1
    assert "sent no heartbeat for 15 s and was replaced" in texts[0]


def test_manual_session_sends_heartbeats(kept: Home) -> None:
    kept.engine("hangs")
    kept.start("run")
    kept.until(lambda: there(kept, "SELECT 1 FROM sessions WHERE status = 'running'"))
    before = rows(kept, "SELECT heartbeat_at FROM leases")

    kept.until(lambda: rows(kept, "SELECT heartbeat_at FROM leases") != before)


def test_standby_counts_only_silence_that_it_observed() -> None:
    clock = iter([0.0, 1.0, 2.0, 3_602.0, 3_603.0, 3_604.0])
    watch = HeartbeatWatch(monotonic=lambda: next(clock))

    silent = [watch.silent_seconds(leader(heartbeat)) for heartbeat in (1, 1, 1, 1, 1, 2)]

    assert silent == [0.0, 1.0, 2.0, 5.0, 6.0, 0.0]


def test_clock_changes_of_the_leader_do_not_count_as_silence() -> None:
    clock = iter([0.0, 1.0, 2.0])
    watch = HeartbeatWatch(monotonic=lambda: next(clock))

    assert [watch.silent_seconds(leader(each)) for each in (5, -86_400, 86_400)] == [0.0, 0.0, 0.0]
