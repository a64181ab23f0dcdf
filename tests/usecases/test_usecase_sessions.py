"""Sessions are requested, started, stopped and finished; each once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import LATER, NOON, SECRETIVE, rows, session

from contexts import DEFAULTS, context
from lamplighter.domain.errors import Conflict, Invalid, NotFound
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import (
    RequestState,
    SessionPlan,
    SessionRequest,
    Status,
    Trigger,
)
from lamplighter.domain.sessions.transcript import Finished
from lamplighter.repository import Database
from lamplighter.repository.sessions import requests
from lamplighter.repository.sessions import sessions as kept
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.sessions import SessionEnd, status_of

SERVICES = Services((Service(name="Jellyfin", checks=()), Service(name="caddy", checks=())))
GOOD = Finished(is_error=False, response="Report", turns=5, cost_usd=0.03, duration_ms=42_000)


async def asked(db: Database, **more: Any) -> SessionRequest:
    plan = SessionPlan(trigger=Trigger.MANUAL, **more)
    return await sessions.file_request(context(db), plan, services=SERVICES, max_tier=3)


async def test_request_gets_a_position_in_the_queue(db: Database) -> None:
    first = await asked(db, tier=2, prompt="Look\x1b closer\n")
    second = await asked(db, services=("JELLYFIN", "jellyfin", "caddy"))

    assert first == SessionRequest(
        id=1,
        state=RequestState.QUEUED,
        tier=2,
        trigger=Trigger.MANUAL,
        created_at=NOON,
        prompt="Look closer",
        position=1,
    )
    assert (second.services, second.position) == (("Jellyfin", "caddy"), 2)


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"tier": 0}, ["tier"]),
        ({"tier": 4}, ["tier"]),
        ({"prompt": "x" * 100_001}, ["prompt"]),
        ({"services": ("plex", "caddy", "x")}, ["services", "services"]),
        (
            {"tier": 9, "prompt": "x" * 100_001, "services": ("plex",)},
            ["tier", "prompt", "services"],
        ),
    ],
    ids=lambda each: str(each)[:30],
)
async def test_invalid_request_is_rejected_and_not_filed(
    db: Database, more: dict[str, Any], fields: list[str]
) -> None:
    with pytest.raises(Invalid) as refused:
        await asked(db, **more)

    assert [each.field for each in refused.value.wrong] == fields
    assert await rows(db, "requests") == []


async def test_queued_request_can_be_cancelled_once(db: Database) -> None:
    first, second = await asked(db), await asked(db)

    await sessions.cancel(db, first.id, now=LATER)

    moved_up = await requests.get(db, second.id)
    assert moved_up == replace(second, position=1)
    with pytest.raises(Conflict, match="cancelled"):
        await sessions.cancel(db, first.id, now=LATER)
    with pytest.raises(NotFound):
        await sessions.cancel(db, 99, now=LATER)


async def test_request_starts_one_session(db: Database) -> None:
    await session(db)
    request = await asked(db, tier=3)
    plan = request.plan(engine="probe")

    opened = await sessions.begin(db, plan, services=SERVICES, epoch=7, request=request, now=LATER)

    assert opened.session == await kept.get(db, 2)
    assert (opened.session.tier, opened.session.leader_epoch) == (3, 7)
    assert (opened.session.status, opened.session.started_at) == (Status.RUNNING, LATER)
    running = await requests.get(db, request.id)
    assert running is not None
    assert (running.state, running.session_id) == (RequestState.RUNNING, 2)
    with pytest.raises(Conflict, match="running"):
        await sessions.cancel(db, request.id, now=LATER)
    with pytest.raises(Conflict, match="canceled"):
        await sessions.begin(db, plan, services=SERVICES, epoch=7, request=request, now=LATER)
    assert len(await rows(db, "sessions")) == 2


async def test_cancelled_request_starts_no_session(db: Database) -> None:
    await session(db)
    request = await asked(db)
    await sessions.cancel(db, request.id, now=NOON)
    before = {table: await rows(db, table) for table in ("sessions", "prompts", "changes")}

    with pytest.raises(Conflict):
        await sessions.begin(
            db, SessionPlan(), services=SERVICES, epoch=1, request=request, now=LATER
        )

    assert {table: await rows(db, table) for table in before} == before


async def test_finished_session_stores_its_report_and_summary(db: Database) -> None:
    await session(db)
    request = await asked(db)
    opened = await sessions.begin(
        db, SessionPlan(), services=SERVICES, epoch=1, request=request, now=NOON
    )
    ending = SessionEnd(
        status=Status.COMPLETED, exit_code=0, finished=GOOD, texts=("First", "", "Last")
    )

    ended = await sessions.finish(context(db, LATER), DEFAULTS, opened.session, ending)

    assert ended == replace(
        opened.session,
        status=Status.COMPLETED,
        ended_at=LATER,
        exit_code=0,
        response="Report",
        summary='Session with 3 messages. Started: "tier 1, scheduled" — Ended: "Last"',
        cost_usd=0.03,
        turns=5,
        duration_ms=42_000,
        version=2,
    )
    done = await requests.get(db, request.id)
    assert done is not None
    assert done.state is RequestState.DONE
    assert [each["session_id"] for each in await rows(db, "leases")] == [None]


@pytest.mark.parametrize(
    ("finished", "said", "response"),
    [
        (GOOD, ("Words",), "Report"),
        (Finished(is_error=False), ("First", "Last"), "Last"),
        (None, ("First", "Last"), "Last"),
        (None, (), ""),
    ],
)
async def test_response_without_a_report_is_the_last_text(
    db: Database, finished: Finished | None, said: tuple[str, ...], response: str
) -> None:
    ending = SessionEnd(status=Status.FAILED, finished=finished, texts=said)

    ended = await sessions.finish(context(db, LATER), DEFAULTS, await session(db), ending)

    assert ended.response == response
    assert ended.duration_ms == (42_000 if finished is GOOD else 3_600_000)


async def test_session_end_stores_no_secret(db: Database) -> None:
    secret = "hunter2-hunter2"
    ending = SessionEnd(status=Status.FAILED, reason=f"It said {secret}", texts=(secret, secret))

    await sessions.finish(context(db, LATER, SECRETIVE), DEFAULTS, await session(db), ending)

    for table in ("sessions", "changes"):
        assert secret not in str(await rows(db, table))


async def test_session_ends_once(db: Database) -> None:
    one = await session(db)
    await sessions.finish(context(db), DEFAULTS, one, SessionEnd(status=Status.COMPLETED))
    before = {table: await rows(db, table) for table in ("sessions", "leases", "changes")}

    with pytest.raises(Conflict, match="already ended"):
        await sessions.finish(context(db, LATER), DEFAULTS, one, SessionEnd(status=Status.FAILED))

    assert {table: await rows(db, table) for table in before} == before


async def test_only_a_running_session_can_be_stopped(db: Database) -> None:
    one = await session(db)

    asked_twice = [await sessions.stop(db, one.id, now=LATER) for _ in range(2)]

    assert [each.stop_requested_at for each in asked_twice] == [LATER, LATER]
    await sessions.finish(context(db, LATER), DEFAULTS, one, SessionEnd(status=Status.STOPPED))
    with pytest.raises(Conflict, match="it is stopped"):
        await sessions.stop(db, one.id, now=LATER)
    with pytest.raises(NotFound):
        await sessions.stop(db, 99, now=LATER)


async def test_clock_set_back_gives_no_negative_duration(db: Database) -> None:
    ending = SessionEnd(status=Status.FAILED)

    ended = await sessions.finish(
        context(db, NOON - timedelta(days=1)), DEFAULTS, await session(db), ending
    )

    assert ended.duration_ms == 0


@pytest.mark.parametrize(
    ("finished", "exit_code", "stderr", "status", "reason"),
    [
        (GOOD, 0, (), Status.COMPLETED, ""),
        (GOOD, 0, ("noise",), Status.COMPLETED, ""),
        (GOOD, 1, (), Status.FAILED, "The engine returned its result, then ended with exit 1."),
        (
            GOOD,
            None,
            (),
            Status.FAILED,
            "The engine returned its result, then ended with exit status unknown.",
        ),
        (None, 0, (), Status.FAILED, "The engine ended without a result (exit 0)."),
        (
            None,
            3,
            ("first", "no disk left"),
            Status.FAILED,
            "The engine ended without a result (exit 3). Its last output: no disk left",
        ),
        (
            Finished(is_error=True, why="error_max_turns"),
            0,
            (),
            Status.FAILED,
            "The engine reported an error: error_max_turns",
        ),
        (
            Finished(is_error=True, response="Overloaded"),
            1,
            (),
            Status.FAILED,
            "The engine reported an error: Overloaded",
        ),
        (
            Finished(is_error=True),
            0,
            (),
            Status.FAILED,
            "The engine reported an error: no reason given",
        ),
    ],
)
def test_status_of_returns_status_and_reason_of_an_ended_engine(
    finished: Finished | None,
    exit_code: int | None,
    stderr: tuple[str, ...],
    status: Status,
    reason: str,
) -> None:
    assert status_of(finished, exit_code, stderr=stderr) == (status, reason)
