"""A repair counts if its service stays healthy: one that crashes again at once was not repaired."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from acting import RESTART, acted
from examples import session

from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.learning.outcome import ActionResult
from lamplighter.domain.services.check import TcpCheck, longest_seconds
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.incident import LASTS, Incident, IncidentOutcome
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import cooldowns, events, incidents, outcomes
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.lasting import refused_actions
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
CHECK = TcpCheck(name="tcp", host="127.0.0.1", port=1, timeout=2, retries=0)
WEB = Service(name="web", checks=(CHECK,), actions=(RESTART,))
SERVICES = Services((WEB,))
PASSED, FAILED = PointState.PASSED, PointState.FAILED


async def checked(db: Database, *results: tuple[int, PointState]) -> None:
    """Record results of `web`, each so many seconds after noon."""
    for seconds, state in results:
        at = NOON + seconds * SECOND
        detail = "connection refused at 127.0.0.1:1" if state is FAILED else ""
        run = CheckRun(service="web", check="tcp", kind="tcp", at=at, state=state, detail=detail)
        await check_runs.record(context(db, at), [run], SERVICES)


async def restarted(db: Database, *, at: int = 5) -> tuple[Incident, Session]:
    """Let `web` fail at noon, and a session restart it and see it healthy."""
    await checked(db, (0, FAILED))
    [incident] = await incidents.live(db)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    await acted(db, by, service="web", now=NOON + at * SECOND)
    await follow(db, SERVICES, now=NOON + at * SECOND)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    return incident, by


async def now_of(db: Database, incident: Incident) -> Incident:
    found = await incidents.get(db, incident.id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seconds", "over"),
    [
        ((6, 7), False),
        ((6, 7, 8, 9), False),
        ((6, 7, 8, 9, 10), True),
        ((6, 20), False),
        ((6, 21), True),
    ],
)
async def test_a_repaired_service_passes_five_times_or_for_fifteen_seconds(
    db: Database, seconds: Sequence[int], over: bool
) -> None:
    assert timedelta(seconds=15) == LASTS
    incident, _ = await restarted(db)

    await checked(db, *((each, PASSED) for each in seconds))

    found = await now_of(db, incident)
    assert found.outcome is (IncidentOutcome.REPAIRED if over else IncidentOutcome.NONE)


async def test_a_repair_that_does_not_last_failed_and_another_investigation_begins(
    db: Database,
) -> None:
    incident, by = await restarted(db)
    first = (await now_of(db, incident)).request_id

    await checked(db, (6, PASSED), (7, PASSED), (8, FAILED))

    [use] = await cooldowns.of_sessions(db, [by.id])
    words = "done; did not last: tcp: connection refused at 127.0.0.1:1"
    assert (use.outcome, use.text, use.did_not_last) == (UseOutcome.FAILURE, words, True)
    told = (await events.page(db, events.EventSelection(), limit=9)).items[0]
    assert told.text == "Restart did not last: tcp: connection refused at 127.0.0.1:1"
    again = await now_of(db, incident)
    assert again.live
    assert again.request_id != first, "investigated at once, without the rest of 5 minutes"
    refused = await refused_actions(db, WEB, "tcp: refused", now=NOON)
    assert refused == {"restart": f"restart of web: {words}"}

    await checked(db, (9, FAILED), (10, FAILED))
    assert (await now_of(db, incident)).request_id == again.request_id

    await checked(db, (60, PASSED), (61, PASSED))
    ended = await now_of(db, incident)
    assert ended.outcome is IncidentOutcome.RECOVERED, "no action ran before it passed again"
    assert await learn(context(db, NOON + 2 * MINUTE), SERVICES) == 1
    [record] = await outcomes.of_incident(db, incident.id)
    assert record.result is ActionResult.FAILED
    [memory] = await memories.list_by_ids(db, range(1, 9))
    assert memory.observation == "Restart does not help against 'connection refused' on web: 0 of 1"


async def test_a_run_that_began_before_the_service_was_healthy_shows_nothing(db: Database) -> None:
    incident, by = await restarted(db)
    late = 5 + int(longest_seconds(CHECK))

    await checked(db, (late, FAILED))  # it may have asked before the restart
    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.outcome is UseOutcome.SUCCESS

    await checked(db, (late + 1, FAILED))
    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.did_not_last
    assert (await now_of(db, incident)).live
