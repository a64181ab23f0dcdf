"""Stored sessions, requests and the lease, and the content of each change."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.sessions.session import (
    RequestState,
    Session,
    SessionPlan,
    SessionRequest,
    Status,
    Trigger,
)
from lamplighter.formats import serialize
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import requests, sessions
from lamplighter.repository.store import changes
from lamplighter.repository.upkeep import leases

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
PLAN = SessionPlan(
    tier=2,
    engine="exec",
    trigger=Trigger.API,
    services=("caddy", "plex"),
    prompt="Look at it",
    dry_run=True,
)


async def open_one(db: Database, plan: SessionPlan = PLAN) -> Session:
    async with writing(db):
        return await sessions.insert(db, plan, model="m", epoch=3, now=NOON)


async def file_one(db: Database, plan: SessionPlan = PLAN) -> SessionRequest:
    async with writing(db):
        return await requests.insert(db, plan, engine="exec", now=NOON)


async def test_session_is_stored_as_planned(db: Database) -> None:
    opened = await open_one(db)

    assert opened == Session(
        id=1,
        tier=2,
        engine="exec",
        trigger=Trigger.API,
        status=Status.RUNNING,
        started_at=NOON,
        model="m",
        prompt="Look at it",
        services=("caddy", "plex"),
        dry_run=True,
        leader_epoch=3,
    )
    assert await sessions.get(db, 1) == opened
    assert await sessions.get(db, 2) is None


async def test_session_plan_for_all_services_stores_no_list(db: Database) -> None:
    assert (await open_one(db, SessionPlan())).services is None
    assert (await open_one(db, SessionPlan(services=()))).services == ()


async def test_progress_adds_counts_and_sets_the_offset(db: Database) -> None:
    opened = await open_one(db)
    async with writing(db):
        await sessions.progress(db, 1, log_offset=10, learned=1, events=2, now=LATER)
        moved = await sessions.progress(
            db, 1, log_offset=30, learned=1, reinforced=3, ignored=4, now=LATER
        )

    assert moved == replace(
        opened, log_offset=30, learned=2, reinforced=3, events=2, ignored=4, version=3
    )


async def test_session_ends_once(db: Database) -> None:
    opened = await open_one(db)
    async with writing(db):
        ended = await sessions.end(
            db, 1, Status.COMPLETED, now=LATER, exit_code=0, response="fine", cost_usd=0.03
        )
        again = await sessions.end(db, 1, Status.FAILED, now=LATER)
        stopped = await sessions.request_stop(db, 1, now=LATER)

    assert ended == replace(
        opened,
        status=Status.COMPLETED,
        ended_at=LATER,
        exit_code=0,
        response="fine",
        cost_usd=0.03,
        version=2,
    )
    assert (again, stopped) == (None, None)
    assert await sessions.get(db, 1) == ended


async def test_request_stop_marks_a_running_session(db: Database) -> None:
    opened = await open_one(db)
    async with writing(db):
        asked = await sessions.request_stop(db, 1, now=LATER)

    assert asked == replace(opened, stop_requested_at=LATER, version=2)
    assert await sessions.running(db) == [asked]


async def test_running_lists_sessions_oldest_first(db: Database) -> None:
    one, two, three = [await open_one(db) for _ in range(3)]
    async with writing(db):
        await sessions.end(db, two.id, Status.STOPPED, now=LATER)

    assert await sessions.running(db) == [one, three]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (sessions.SessionFilter(), [4, 3, 2, 1]),
        (sessions.SessionFilter(status=Status.FAILED), [2]),
        (sessions.SessionFilter(status=Status.RUNNING), [4, 3, 1]),
        (sessions.SessionFilter(tier=2), [4, 2]),
        (sessions.SessionFilter(trigger=Trigger.API), [4, 2]),
        (sessions.SessionFilter(tier=2, status=Status.RUNNING), [4]),
        (sessions.SessionFilter(since=NOON), [4, 3, 2, 1]),
        (sessions.SessionFilter(since=LATER), []),
    ],
)
async def test_sessions_are_listed_newest_first(
    db: Database, wanted: sessions.SessionFilter, ids: list[int]
) -> None:
    for plan in (SessionPlan(), PLAN, SessionPlan(), PLAN):
        await open_one(db, plan)
    async with writing(db):
        await sessions.end(db, 2, Status.FAILED, now=LATER)

    found = []
    position = None
    while True:
        page = await sessions.page(db, wanted, limit=2, position=position)
        found += [each.id for each in page.items]
        position = page.position
        if position is None:
            break

    assert found == ids


async def test_every_change_of_a_session_is_recorded_in_the_feed(db: Database) -> None:
    opened = await open_one(db)
    async with writing(db):
        moved = await sessions.progress(db, 1, log_offset=5, now=NOON)
        ended = await sessions.end(db, 1, Status.COMPLETED, now=LATER)

    assert ended is not None
    assert [(each.op, each.version, each.row) for each in await changes.list_after(db, 0)] == [
        (ChangeOp.CREATED, 1, serialize.session(opened)),
        (ChangeOp.UPDATED, 2, serialize.session(moved)),
        (ChangeOp.UPDATED, 3, serialize.session(ended)),
    ]


async def test_queued_requests_have_a_position(db: Database) -> None:
    one, two, three = [await file_one(db) for _ in range(3)]

    assert one == SessionRequest(
        id=1,
        state=RequestState.QUEUED,
        tier=2,
        trigger=Trigger.API,
        created_at=NOON,
        services=("caddy", "plex"),
        prompt="Look at it",
        engine="exec",
        dry_run=True,
        position=1,
    )
    assert one.plan(engine="probe") == PLAN
    assert [each.position for each in (one, two, three)] == [1, 2, 3]

    async with writing(db):
        taken_back = await requests.cancel(db, one.id, now=LATER)

    assert taken_back == replace(one, state=RequestState.CANCELLED, position=None, version=2)
    assert [(await requests.get(db, each)).position for each in (1, 2, 3)] == [None, 1, 2]  # type: ignore[union-attr]
    assert await requests.next_queued(db) == replace(two, position=None)


async def test_request_is_claimed_once(url: str, db: Database) -> None:
    filed = await file_one(db)
    session = await open_one(db)

    async def claim() -> SessionRequest | None:
        async with Database(url) as other, writing(other):
            return await requests.claim(other, filed.id, session.id, now=LATER)

    claims = await asyncio.gather(claim(), claim(), claim())

    expected = replace(
        filed, state=RequestState.RUNNING, session_id=session.id, position=None, version=2
    )
    assert [each for each in claims if each is not None] == [expected]
    async with writing(db):
        assert await requests.cancel(db, filed.id, now=LATER) is None
    assert await requests.next_queued(db) is None


async def test_request_is_done_when_its_session_ends(db: Database) -> None:
    filed = await file_one(db)
    session = await open_one(db)
    async with writing(db):
        await requests.claim(db, filed.id, session.id, now=LATER)
        await requests.finish(db, session.id, now=LATER)
        await requests.finish(db, session.id, now=LATER)
        await requests.finish(db, 99, now=LATER)

    done = await requests.get(db, filed.id)
    assert done is not None
    assert (done.state, done.version) == (RequestState.DONE, 3)
    told = [each for each in await changes.list_after(db, 0) if each.entity == "request"]
    assert [(each.op, each.version) for each in told] == [
        (ChangeOp.CREATED, 1),
        (ChangeOp.UPDATED, 2),
        (ChangeOp.UPDATED, 3),
    ]


async def test_requests_are_listed_newest_first(db: Database) -> None:
    for _ in range(4):
        await file_one(db)
    async with writing(db):
        await requests.cancel(db, 2, now=LATER)

    first = await requests.page(db, RequestState.QUEUED, limit=2)
    second = await requests.page(db, RequestState.QUEUED, limit=2, position=first.position)

    assert [(each.id, each.position) for each in (*first.items, *second.items)] == [
        (4, 3),
        (3, 2),
        (1, 1),
    ]
    assert second.position is None
    assert [each.id for each in (await requests.page(db, None, limit=9)).items] == [4, 3, 2, 1]


async def take(db: Database, pid: int = 100) -> Leader:
    async with writing(db):
        return await leases.acquire(
            db, pid=pid, engine="probe", interval_seconds=60, dry_run=False, now=NOON
        )


async def test_acquire_starts_a_new_epoch(db: Database) -> None:
    assert await leases.get(db) is None

    first = await take(db)
    second = await take(db, pid=200)

    assert first == Leader(
        epoch=1,
        pid=100,
        engine="probe",
        interval_seconds=60,
        dry_run=False,
        session_id=None,
        heartbeat_at=NOON,
        next_round_at=None,
        version=first.version,
    )
    assert second == replace(first, epoch=2, pid=200, version=first.version + 1)
    assert await leases.get(db) == second


async def test_heartbeat_of_another_epoch_is_ignored(db: Database) -> None:
    leader = await take(db)
    before = await changes.last_seq(db)
    async with writing(db):
        await leases.record_heartbeat(db, leader.epoch + 1, now=LATER)
    assert await leases.get(db) == leader

    async with writing(db):
        await leases.record_heartbeat(db, leader.epoch, now=LATER)

    assert await leases.get(db) == replace(leader, heartbeat_at=LATER)
    assert await changes.last_seq(db) == before


async def test_status_updates_of_the_leader_are_recorded_in_the_feed(db: Database) -> None:
    leader = await take(db)
    async with writing(db):
        told = await leases.update_status(db, now=LATER, session_id=None, next_round_at=LATER)

    assert told == replace(
        leader, heartbeat_at=LATER, next_round_at=LATER, version=leader.version + 1
    )
    newest = (await changes.list_after(db, 0))[-1]
    assert (newest.entity, newest.row) == ("supervisor", serialize.leader(told, now=LATER))


@pytest.mark.parametrize(
    ("change", "after", "state"),
    [
        ({}, timedelta(seconds=20), "idle"),
        ({}, timedelta(seconds=21), "away"),
        ({"session_id": 5}, timedelta(0), "running"),
        ({"pid": 0}, timedelta(0), "away"),
    ],
)
def test_leader_without_a_recent_heartbeat_is_away(
    change: dict[str, int], after: timedelta, state: str
) -> None:
    leader = Leader(
        epoch=1,
        pid=1,
        engine="probe",
        interval_seconds=1,
        dry_run=False,
        session_id=None,
        heartbeat_at=NOON,
        next_round_at=None,
    )
    assert replace(leader, **change).state(now=NOON + after) == state  # type: ignore[arg-type]
