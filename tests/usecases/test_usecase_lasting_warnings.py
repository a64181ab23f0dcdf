"""Lasting warnings on both databases: one low-severity incident, one investigation, a person."""

from dataclasses import replace
from datetime import datetime, timedelta

from examples import session

from contexts import NOON, context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.check import DiskCheck, HttpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import Incident, IncidentState
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Status
from lamplighter.repository import Database, writing
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_runs, lasting_warnings
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.sessions.sessions import SessionEnd, finish
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange

MINUTE = timedelta(minutes=1)
SLOW = "took 900 ms, slower than 500 ms"
SERVICES = Services(
    (
        Service(name="db", checks=(HttpCheck(name="http", url="http://127.0.0.1:1/"),)),
        Service(
            name="web",
            checks=(HttpCheck(name="http", url="http://127.0.0.1:2/"),),
            depends_on=("db",),
        ),
        Service(name="nas", checks=(DiskCheck(name="disk", path="/"),)),
    )
)
PASSED, WARNED, FAILED = PointState.PASSED, PointState.WARNED, PointState.FAILED


async def checked(db: Database, state: PointState, at: datetime, *names: str) -> None:
    detail = {PASSED: "", WARNED: SLOW, FAILED: "connection refused"}[state]
    runs = [
        CheckRun(service=name, check="http", kind="http", at=at, state=state, detail=detail)
        for name in names
    ]
    await check_runs.record(context(db, at), runs, SERVICES)


async def detect(db: Database, at: datetime) -> list[Incident]:
    await lasting_warnings.detect(context(db, at + timedelta(seconds=1)), SERVICES)
    return await incidents.live(db)


async def warned(db: Database, *names: str, start: datetime = NOON) -> Incident:
    """Let services warn five times in a row, and return the incident."""
    for number in range(5):
        await checked(db, WARNED, start + number * MINUTE, *names)
    [found] = await detect(db, start + 5 * MINUTE)
    return found


async def investigated(db: Database, incident: Incident, at: datetime) -> None:
    """Let a session of tier 2 complete the request of an incident."""
    began = await session(db, tier=2)
    assert incident.request_id
    async with writing(db):
        assert await requests.claim(db, incident.request_id, began.id, now=at)
    await finish(context(db, at), Configuration(), began, SessionEnd(status=Status.COMPLETED))


async def messages(db: Database) -> list[tuple[Level, str]]:
    found = (await notices.page(db, None, limit=100)).items
    return [(each.level, each.title) for each in reversed(found)]


async def test_connected_lasting_warnings_form_one_incident_that_needs_a_person(
    db: Database,
) -> None:
    db.telling = NoticePolicy(Level.CRITICAL)
    await checked(db, PASSED, NOON - MINUTE, "db", "web")

    incident = await warned(db, "db", "web")
    assert (incident.severity, incident.services) == (Level.WARNING, ("db", "web"))
    assert incident.title == f"db warns: http: {SLOW}"
    request = await requests.next_queued(db)
    assert request is not None
    assert (request.tier, request.services) == (2, ("db", "web"))
    await follow(db, SERVICES, now=NOON + 6 * MINUTE)
    assert await messages(db) == []
    await investigated(db, incident, NOON + 6 * MINUTE)
    await follow(db, SERVICES, now=NOON + 6 * MINUTE)

    [found] = await incidents.live(db)
    assert found.state is IncidentState.NEEDS_PERSON
    text = f"db needs a person: http: {SLOW}. Also affected: web."
    assert await messages(db) == [(Level.CRITICAL, text)]
    assert await detect(db, NOON + 10 * MINUTE) == [found]
    assert await requests.next_queued(db) is None


async def test_warning_incident_ends_with_its_warning(
    db: Database,
) -> None:
    incident = await warned(db, "db")

    await checked(db, PASSED, NOON + 6 * MINUTE, "db")
    assert len(await detect(db, NOON + 6 * MINUTE)) == 1
    await checked(db, PASSED, NOON + 7 * MINUTE, "db")
    assert await detect(db, NOON + 7 * MINUTE) == []

    again = await warned(db, "db", start=NOON + 12 * MINUTE)
    assert again.id != incident.id


async def test_warning_incident_closed_by_a_person_is_not_reopened_that_day(
    db: Database,
) -> None:
    incident = await warned(db, "db")
    change = IncidentChange(outcome="unresolved")
    await incident_changes.change(context(db, NOON + 6 * MINUTE), incident.id, change)

    await checked(db, WARNED, NOON + 20 * MINUTE, "db")

    assert await detect(db, NOON + 21 * MINUTE) == []


async def test_warning_that_becomes_a_failure_is_investigated(db: Database) -> None:
    db.telling = NoticePolicy(Level.CRITICAL)
    incident = await warned(db, "web")
    await investigated(db, incident, NOON + 5 * MINUTE)
    await follow(db, SERVICES, now=NOON + 5 * MINUTE)

    for minute in (6, 7):
        await checked(db, FAILED, NOON + minute * MINUTE, "web")
        await checked(db, PASSED, NOON + minute * MINUTE, "db")
    await checked(db, FAILED, NOON + 8 * MINUTE, "web")

    [found] = await incidents.live(db)
    assert (found.id, found.severity) == (incident.id, Level.CRITICAL)
    assert found.title == "web fails: http: connection refused"
    request = await requests.next_queued(db)
    assert request is not None
    assert (request.tier, request.services) == (1, ("web",))
    await checked(db, PASSED, NOON + 9 * MINUTE, "web")
    await checked(db, PASSED, NOON + 10 * MINUTE, "web")
    assert await incidents.live(db) == []


async def test_disk_that_fills_up_opens_an_incident_before_it_is_full(db: Database) -> None:
    for minute in range(0, 60, 2):
        at = NOON + minute * MINUTE
        detail = f"{40 - minute / 10:.2f}% free"
        run = CheckRun(service="nas", check="disk", kind="disk", at=at, state=PASSED, detail=detail)
        await check_runs.record(context(db, at), [run], SERVICES)

    [found] = await detect(db, NOON + 60 * MINUTE)

    assert found.title == "nas warns: disk: 34.20% free; full in about 6 h by its trend"
    assert await detect(db, NOON + 61 * MINUTE) == [found]


async def test_pause_does_not_end_a_warning_incident(db: Database) -> None:
    incident = await warned(db, "db")
    paused = Services((replace(SERVICES.items[0], paused=True), *SERVICES.items[1:]))

    await lasting_warnings.detect(context(db, NOON + 6 * MINUTE), paused)
    [live] = await incidents.live(db)
    assert live.id == incident.id

    await lasting_warnings.detect(context(db, NOON + 7 * MINUTE), Services(SERVICES.items[1:]))
    assert await incidents.live(db) == []


async def test_failure_after_a_warning_updates_the_detail_and_severity(db: Database) -> None:
    incident = await warned(db, "db")

    await checked(db, FAILED, NOON + 6 * MINUTE, "db")

    [live] = await incidents.live(db)
    [member] = (await incidents.members(db, [incident.id]))[incident.id]
    assert (live.id, live.severity, bool(live.configured)) == (incident.id, Level.CRITICAL, True)
    assert member.detail == "http: connection refused"
