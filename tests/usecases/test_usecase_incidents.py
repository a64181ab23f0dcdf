"""Incidents: followed through their sessions, reported once, closed with an outcome."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from acting import RESTART, acted
from examples import session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Invalid, NotFound
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.domain.services.check import PushCheck, TcpCheck
from lamplighter.domain.services.checks.silence import MaintenanceWindow
from lamplighter.domain.services.cooldown import ActionKind, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    LASTS,
    EntryKind,
    Incident,
    IncidentOutcome,
    IncidentSource,
    IncidentState,
)
from lamplighter.domain.services.notice import NoticeKind, NoticePolicy, NoticeState
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.session import RequestState, Session, Status
from lamplighter.formats.serialize import format_moment
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.services import (
    cooldowns,
    events,
    incidents,
    notices,
    outcomes,
    series,
)
from lamplighter.repository.sessions import escalations, requests, sessions
from lamplighter.usecases.services import act, alert, check_runs
from lamplighter.usecases.services.alert import AlertContext
from lamplighter.usecases.services.incidents import view as incident_view
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.services.incidents.steps import open_incident
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions.sessions import SessionEnd, finish
from lamplighter.usecases.system import incident_changes, overview
from lamplighter.usecases.system import incident_changes as acts
from lamplighter.usecases.system.incident_changes import IncidentChange
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
PORT = (TcpCheck(name="tcp", host="127.0.0.1", port=1),)
SERVICES = Services(
    (
        Service(name="db", checks=PORT),
        Service(name="Web", checks=PORT, depends_on=("db",)),
        Service(name="mail", checks=PORT),
        Service(name="shop", checks=PORT),
    )
)
DAYS = count(1)
"""Each example of a property test has a separate day."""

FAILED, PASSED = PointState.FAILED, PointState.PASSED


async def checked(db: Database, state: PointState, at: datetime, *names: str) -> None:
    """Record a result for each of these services."""
    detail = "connection refused" if state is FAILED else ""
    runs = [
        CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail=detail)
        for name in names
    ]
    await check_runs.record(context(db, at), runs, SERVICES)


async def failing(db: Database, *names: str) -> Incident:
    """Record failures of these services, and return the incident."""
    await checked(db, FAILED, NOON, *names)
    [found] = await incidents.live(db)
    return found


async def well(
    db: Database, *names: str, at: datetime = NOON + 5 * MINUTE, since: timedelta = SECOND
) -> None:
    """Record two passed results of these services."""
    await checked(db, PASSED, at - since, *names)
    await checked(db, PASSED, at, *names)


async def now_of(db: Database, incident: Incident) -> Incident:
    return await incident_view.get(db, incident.id)


async def answered(db: Database, incident: Incident, *, tier: int = 1) -> Session:
    """Let a session claim the request of an incident."""
    began = await session(db, tier=tier)
    assert incident.request_id
    async with writing(db):
        assert await requests.claim(db, incident.request_id, began.id, now=NOON)
    return began


async def ended(db: Database, by: Session, status: Status = Status.COMPLETED) -> None:
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=status))


async def told(db: Database) -> list[tuple[NoticeKind, Level, str]]:
    found = (await notices.page(db, None, limit=100)).items
    left = [each for each in reversed(found) if each.state is not NoticeState.SUPPRESSED]
    return [(each.kind, each.level, each.title) for each in left]


@pytest.mark.parametrize(
    ("healthy_after", "repaired_at"),
    [(4.4, NOON + 7.4 * SECOND), (None, NOON + MINUTE)],
    ids=["measured after the action", "found by a check later"],
)
async def test_incident_follows_its_sessions_to_its_outcome(
    db: Database, healthy_after: float | None, repaired_at: datetime
) -> None:
    incident = await failing(db, "db", "Web")
    assert (incident.service, incident.services) == ("db", ("db", "Web"))
    assert incident.state is IncidentState.OPEN

    first = await answered(db, incident)
    await follow(db, SERVICES, now=NOON + SECOND)
    assert (await now_of(db, incident)).state is IncidentState.INVESTIGATING

    await ended(db, first)
    third = await session(db, tier=3, parent_id=first.id)
    await follow(db, SERVICES, now=NOON + 2 * SECOND)
    assert (await now_of(db, incident)).state is IncidentState.REPAIRING

    ran = NOON + 3 * SECOND
    await acted(db, third, service="db", healthy_after=healthy_after, now=ran)
    await ended(db, third)
    await well(db, "db", "Web", at=NOON + MINUTE, since=LASTS)
    found = await now_of(db, incident)
    assert (found.state, found.outcome) == (IncidentState.RESOLVED, IncidentOutcome.REPAIRED)
    assert (found.action, found.repaired_at) == ("restart", repaired_at)
    shown = await incident_view.read(db, incident.id, now=NOON + MINUTE)
    ended_at = ran + timedelta(seconds=healthy_after or 0)
    assert [each["at"] for each in shown["timeline"] if each["kind"] == "action"] == [
        format_moment(ended_at)
    ]
    assert await incidents.session_ids(db, incident.id) == [first.id, third.id]
    assert not await follow(db, SERVICES, now=NOON + 2 * MINUTE)
    for later, shown in ((timedelta(hours=24), [incident.id]), (timedelta(hours=25), [])):
        seen = await overview.overview(db, SERVICES, start=NOON, now=NOON + later)
        assert [each.id for each in seen.repaired] == shown


async def test_incident_waits_for_the_outcome_of_a_running_repair(
    db: Database,
) -> None:
    incident = await failing(db, "mail")
    by = await answered(db, incident, tier=3)
    use = await act.reserve(db, by, "mail", RESTART, now=NOON + SECOND)

    await well(db, "mail", at=NOON + 5 * SECOND)
    assert (await now_of(db, incident)).live

    await act.settle(db, use, UseOutcome.SUCCESS, text="", now=NOON + 9 * SECOND)
    await follow(db, SERVICES, now=NOON + 10 * SECOND)
    found = await now_of(db, incident)
    assert (found.outcome, found.action) == (IncidentOutcome.REPAIRED, "restart")


async def test_fifty_services_of_one_root_cause_are_one_incident(
    db: Database,
) -> None:
    db.telling = NoticePolicy()
    leaves = [Service(name=f"s{n}", checks=PORT, depends_on=("root",)) for n in range(50)]
    services = Services((*leaves, Service(name="root", checks=PORT)))

    async def all_are(state: PointState, at: datetime) -> None:
        runs = [
            CheckRun(service=each.name, check="tcp", kind="tcp", at=at, state=state)
            for each in services
        ]
        await check_runs.record(context(db, at), runs, services)
        await follow(db, services, now=at)

    await all_are(FAILED, NOON)
    await all_are(FAILED, NOON + MINUTE)
    [incident] = await incidents.live(db)
    assert (incident.service, len(incident.services)) == ("root", 51)
    await all_are(PASSED, NOON + 2 * MINUTE)
    await all_are(PASSED, NOON + 3 * MINUTE)

    assert not (await now_of(db, incident)).live
    assert len(await told(db)) == 2


async def test_third_incident_of_a_day_is_reported_as_such(db: Database) -> None:
    db.telling = NoticePolicy()
    for number in range(3):
        start = NOON + number * timedelta(hours=1)
        await checked(db, FAILED, start, "mail")
        await follow(db, SERVICES, now=start + MINUTE)
        await well(db, "mail", at=start + 5 * MINUTE)

    opening = [title for _, level, title in await told(db) if level is Level.CRITICAL]
    often = "This is incident 3 with this root cause in 24 h."
    assert [title.endswith(often) for title in opening] == [False, False, True]


async def test_incident_ends_no_earlier_than_it_was_detected(db: Database) -> None:
    incident = await failing(db, "mail")

    await well(db, "mail", at=NOON - timedelta(hours=1))

    found = await now_of(db, incident)
    assert found.state is IncidentState.RESOLVED
    assert found.resolved_at == found.detected_at


async def test_recovered_incident_cancels_its_request(db: Database) -> None:
    incident = await failing(db, "mail")

    await well(db, "mail")

    found = await now_of(db, incident)
    assert found.outcome is IncidentOutcome.RECOVERED
    request = await requests.get(db, incident.request_id or 0)
    assert request is not None
    assert request.state is RequestState.CANCELLED


async def test_failed_restart_is_not_credited_as_a_repair(db: Database) -> None:
    incident = await failing(db, "mail")
    by = await answered(db, incident, tier=3)
    await acted(db, by, service="mail", outcome=UseOutcome.FAILURE)
    await follow(db, SERVICES, now=NOON)
    await ended(db, by)

    await well(db, "mail")

    assert (await now_of(db, incident)).outcome is IncidentOutcome.RECOVERED


async def test_incident_is_notified_once_after_grouping_and_once_at_its_end(db: Database) -> None:
    db.telling = NoticePolicy()
    await failing(db, "db")
    await follow(db, SERVICES, now=NOON + SECOND)
    assert await told(db) == []
    await checked(db, FAILED, NOON + 2 * SECOND, "db", "Web")

    for seconds in (10, 11, 60):
        await follow(db, SERVICES, now=NOON + seconds * SECOND)
    async with writing(db):
        await events.insert(
            db, Level.CRITICAL, "Web is down", service="web", source="marker", now=NOON + MINUTE
        )
    await well(db, "db", "Web")

    assert await told(db) == [
        (
            NoticeKind.INCIDENT,
            Level.CRITICAL,
            "db fails: tcp: connection refused. Also affected: Web.",
        ),
        (
            NoticeKind.INCIDENT,
            Level.INFO,
            "db is healthy again after 5 min; it recovered without a repair by Lamplighter",
        ),
    ]


async def test_failure_that_ends_before_its_notification_sends_none(db: Database) -> None:
    db.telling = NoticePolicy()
    await failing(db, "mail")
    await well(db, "mail", at=NOON + 5 * SECOND)
    await follow(db, SERVICES, now=NOON + MINUTE)

    assert await told(db) == []


async def test_incident_that_needs_a_person_is_notified_once(db: Database) -> None:
    db.telling = NoticePolicy()
    incident = await failing(db, "mail")
    by = await answered(db, incident)
    await chain.ask_person(db, by, "mail", "The disk is full", now=NOON)
    await ended(db, by)

    for seconds in (1, 2, 30):
        await follow(db, SERVICES, now=NOON + seconds * SECOND)

    assert (await now_of(db, incident)).state is IncidentState.NEEDS_PERSON
    assert await told(db) == [
        (NoticeKind.INCIDENT, Level.CRITICAL, "mail needs a person: The disk is full")
    ]


async def test_escalation_of_an_earlier_incident_is_not_the_reason_of_the_next(
    db: Database,
) -> None:
    incident = await failing(db, "mail")
    by = await answered(db, incident)
    await chain.ask_person(db, by, "mail", "The disk is full", now=NOON)
    await ended(db, by)
    await well(db, "mail")
    db.telling = NoticePolicy()

    await checked(db, FAILED, NOON + 10 * MINUTE, "mail")
    await follow(db, SERVICES, now=NOON + 10 * MINUTE)
    [second] = await incidents.live(db)
    assert (second.state, await told(db)) == (IncidentState.OPEN, [])  # a repair may be found

    await ended(db, await answered(db, second))
    await follow(db, SERVICES, now=NOON + 10 * MINUTE)

    assert (await now_of(db, second)).state is IncidentState.NEEDS_PERSON
    assert await told(db) == [
        (
            NoticeKind.INCIDENT,
            Level.CRITICAL,
            "mail needs a person: tcp: connection refused",
        )
    ]


async def test_recovered_service_no_longer_needs_a_person(db: Database) -> None:
    incident = await failing(db, "mail")
    by = await answered(db, incident)
    await chain.ask_person(db, by, "mail", "The disk is full", now=NOON)
    await ended(db, by)
    asked = await overview.overview(db, SERVICES, start=NOON, now=NOON)
    assert [each.service for each in asked.people] == ["mail"]

    await well(db, "mail")
    over = await overview.overview(db, SERVICES, start=NOON, now=NOON)
    assert (over.people, over.incidents) == ((), ())

    await checked(db, FAILED, NOON + 10 * MINUTE, "mail")
    again = await overview.overview(db, SERVICES, start=NOON, now=NOON)
    assert [each.service for each in again.people] == ["mail"]


async def test_job_that_reports_success_no_longer_needs_a_person(db: Database) -> None:
    job = Services((Service(name="job", checks=(PushCheck(name="push", every=86_400.0),)),))
    for at, state in ((NOON, FAILED), (NOON + MINUTE, PASSED)):
        run = CheckRun(service="job", check="push", kind="push", at=at, state=state)
        await check_runs.record(context(db, at), [run], job)
        if state is FAILED:
            by = await session(db)
            await chain.ask_person(db, by, "job", "It failed", now=at)
            await ended(db, by)

    over = await overview.overview(db, job, start=NOON, now=NOON + MINUTE)

    assert (over.people, over.incidents) == ((), ())


async def test_escalation_to_a_person_opens_an_incident(db: Database) -> None:
    by = await session(db)
    await chain.ask_person(db, by, "mail", "The disk is full", now=NOON)
    await ended(db, by)

    await follow(db, SERVICES, now=NOON)
    [incident] = await incidents.live(db)
    assert (incident.service, incident.state) == ("mail", IncidentState.NEEDS_PERSON)
    assert await incidents.session_ids(db, incident.id) == [by.id]

    [asked] = [each.id for each in await chain.escalations.open_for_people(db)]
    await chain.mark_handled(db, asked, now=NOON + MINUTE)
    await follow(db, SERVICES, now=NOON + MINUTE)
    assert (await now_of(db, incident)).outcome is IncidentOutcome.BY_PERSON


async def test_incident_with_an_interrupted_session_is_investigated_again(db: Database) -> None:
    incident = await failing(db, "mail")
    by = await answered(db, incident)
    await ended(db, by, Status.INTERRUPTED)
    await checked(db, FAILED, NOON + MINUTE, "mail")
    assert (await now_of(db, incident)).request_id == incident.request_id

    await checked(db, FAILED, NOON + 6 * MINUTE, "mail")

    again = await now_of(db, incident)
    assert again.request_id != incident.request_id
    await checked(db, FAILED, NOON + 12 * MINUTE, "mail")
    assert (await now_of(db, incident)).request_id == again.request_id


async def test_escalations_of_one_session_form_one_incident(db: Database) -> None:
    by = await session(db)
    async with writing(db):
        for name in ("Web", "db"):
            await escalations.insert(
                db, by.id, 2, name, "refused", state=EscalationState.ACCEPTED, now=NOON
            )

    await follow(db, SERVICES, now=NOON)

    [incident] = await incidents.live(db)
    assert (incident.service, incident.services) == ("db", ("db", "Web"))


async def test_escalation_joins_the_incident_of_its_dependency(db: Database) -> None:
    incident = await failing(db, "db")
    by = await session(db)
    async with writing(db):
        await escalations.insert(
            db, by.id, 2, "Web", "refused", state=EscalationState.OPEN, now=NOON
        )
    await follow(db, SERVICES, now=NOON)
    assert (await now_of(db, incident)).services == ("db",), "the session still runs"

    async with writing(db):
        await escalations.change_state(
            db, by.id, EscalationState.OPEN, EscalationState.ACCEPTED, now=NOON
        )
    await follow(db, SERVICES, now=NOON)
    await follow(db, SERVICES, now=NOON)

    [found] = await incidents.live(db)
    assert (found.id, found.services) == (incident.id, ("db", "Web"))
    assert await incidents.session_ids(db, incident.id) == [by.id]


@pytest.mark.parametrize("checked_first", [True, False])
async def test_unrelated_failures_of_one_round_are_two_incidents(
    db: Database, *, checked_first: bool
) -> None:
    incident = await failing(db, "db")
    if checked_first:
        await checked(db, FAILED, NOON, "mail")
    by = await answered(db, incident)
    async with writing(db):
        for name in ("mail", "Web", "db"):
            await escalations.insert(
                db, by.id, 2, name, "refused", state=EscalationState.ACCEPTED, now=NOON
            )
    if not checked_first:
        await checked(db, FAILED, NOON + SECOND, "mail")

    await follow(db, SERVICES, now=NOON + SECOND)

    found = sorted((each.service, each.services) for each in await incidents.live(db))
    assert found == [("db", ("db", "Web")), ("mail", ("mail",))]
    [mail] = [each for each in await incidents.live(db) if each.service == "mail"]
    await acted(db, by, service="mail", now=NOON + 2 * SECOND)
    await well(db, "mail", at=NOON + MINUTE, since=LASTS)
    ended_mail = await now_of(db, mail)
    assert (ended_mail.outcome, ended_mail.action) == (IncidentOutcome.REPAIRED, "restart")


async def test_failing_check_takes_over_the_incident_of_a_session(db: Database) -> None:
    by = await session(db)
    async with writing(db):
        await escalations.insert(
            db, by.id, 2, "mail", "refused", state=EscalationState.ACCEPTED, now=NOON
        )
    await follow(db, SERVICES, now=NOON)
    await ended(db, by, Status.INTERRUPTED)
    async with writing(db):
        await chain.drop(db, by, "the supervisor ended", now=NOON)

    await checked(db, FAILED, NOON + SECOND, "mail")

    [incident] = await incidents.live(db)
    assert (incident.source, incident.service) == (IncidentSource.CHECK, "mail")
    assert incident.request_id is not None
    await well(db, "mail")
    assert not (await now_of(db, incident)).live


@pytest.mark.parametrize("sent", [False, True])
async def test_failure_reported_by_a_round_first_is_notified_once(
    db: Database, *, sent: bool
) -> None:
    """By its incident; if the round's report was sent before, only the incident's end is new."""
    db.telling = NoticePolicy()
    by = await session(db)
    report = {"service": "mail", "session_id": by.id, "source": "marker"}
    async with writing(db):
        await events.insert(db, Level.CRITICAL, "refused", **report, now=NOON - MINUTE)
        if sent:
            await notices.claim(db, limit=1, now=NOON)
        state = EscalationState.ACCEPTED
        await escalations.insert(db, by.id, 2, "mail", "refused", state=state, now=NOON)
    await follow(db, SERVICES, now=NOON)
    async with writing(db):
        await events.insert(db, Level.CRITICAL, "still refused", **report, now=NOON)
    await follow(db, SERVICES, now=NOON + 11 * SECOND)
    await ended(db, by, Status.INTERRUPTED)
    async with writing(db):
        await chain.drop(db, by, "the supervisor ended", now=NOON)
    await checked(db, FAILED, NOON + 12 * SECOND, "mail")
    async with writing(db):
        await notices.insert_recovery(db, "mail", [], now=NOON + 13 * SECOND)

    await well(db, "mail")

    first = NoticeKind.EVENT if sent else NoticeKind.INCIDENT
    assert [each[:2] for each in await told(db)] == [
        (first, Level.CRITICAL),
        (NoticeKind.INCIDENT, Level.INFO),
    ]


async def test_events_not_covered_by_the_incident_are_notified_separately(db: Database) -> None:
    """A person's report, and a critical report while only a warning is open."""
    db.telling = NoticePolicy()
    by = await session(db)
    async with writing(db):
        for service, severity in (("mail", Level.CRITICAL), ("web", Level.WARNING)):
            about = {"title": service, "severity": severity, "started_at": NOON, "now": NOON}
            await open_incident(db, IncidentSource.CHECK, service, {service: "slow"}, **about)
        by_person = {"service": "mail", "source": "operator", "now": NOON}
        await events.insert(db, Level.CRITICAL, "its disk fails", **by_person)
        by_round = {"service": "web", "source": "marker", "session_id": by.id, "now": NOON}
        await events.insert(db, Level.CRITICAL, "refused", **by_round)

    await follow(db, SERVICES, now=NOON + SECOND)
    await follow(db, SERVICES, now=NOON + 11 * SECOND)

    found = await told(db)
    assert [text for kind, _, text in found if kind is NoticeKind.EVENT] == [
        "its disk fails",
        "refused",
    ]
    assert [text for *_, text in found if text.startswith("mail")]


async def test_repeated_follow_changes_nothing(db: Database) -> None:
    incident = await failing(db, "mail")
    await answered(db, incident)
    await follow(db, SERVICES, now=NOON + SECOND)
    before = await now_of(db, incident)

    await follow(db, SERVICES, now=NOON + 2 * SECOND)

    assert await now_of(db, incident) == before


def alarmed(db: Database) -> AlertContext:
    return AlertContext(
        db=db,
        now=lambda: NOON + MINUTE,
        redact=context(db).redact,
        active=Configuration(),
        services=SERVICES,
    )


DOWN = Alert(
    fingerprint="7", state=AlertState.FIRING, title="is down", names=("web",), severity="critical"
)


async def test_alert_joins_the_incident_of_its_service(db: Database) -> None:
    incident = await failing(db, "db", "Web")

    [result] = await alert.ingest_delivery(alarmed(db), "kuma", [DOWN])

    assert result.request is not None
    assert result.request.id == incident.request_id
    assert [each.id for each in await incidents.live(db)] == [incident.id]
    shown = await incident_view.read(db, incident.id, now=NOON)
    assert "kuma: is down" in [each["text"] for each in shown["timeline"]]


async def test_alert_without_an_incident_opens_one_until_resolved(db: Database) -> None:
    [result] = await alert.ingest_delivery(alarmed(db), "kuma", [DOWN])
    [incident] = await incidents.live(db)
    assert (incident.service, incident.severity) == ("Web", Level.CRITICAL)
    assert result.request is not None
    assert incident.request_id == result.request.id
    await well(db, "Web", at=NOON + 2 * MINUTE)
    await follow(db, SERVICES, now=NOON + 2 * MINUTE)
    assert (await now_of(db, incident)).live

    up = replace(DOWN, state=AlertState.RESOLVED)
    await alert.ingest_delivery(alarmed(db), "kuma", [up])
    await follow(db, SERVICES, now=NOON + 3 * MINUTE)

    assert (await now_of(db, incident)).outcome is IncidentOutcome.RECOVERED


@pytest.mark.parametrize(
    ("severities", "now"),
    [(("info", "warning"), Level.WARNING), (("critical", "info"), Level.CRITICAL)],
)
async def test_incident_of_alerts_has_the_highest_severity(
    db: Database, severities: tuple[str, str], now: Level
) -> None:
    for number, severity in enumerate(severities):
        one = replace(DOWN, fingerprint=str(number), severity=severity)
        await alert.ingest_delivery(alarmed(db), "kuma", [one])

    assert [each.severity for each in await incidents.live(db)] == [now]


async def test_person_acknowledges_annotates_and_resolves_an_incident(db: Database) -> None:
    incident = await failing(db, "mail")
    here = context(db, NOON + MINUTE)

    await acts.change(here, incident.id, IncidentChange(acknowledged=True, note="On it"))
    done = await acts.change(here, incident.id, IncidentChange(outcome=IncidentOutcome.BY_PERSON))

    assert (done.acknowledged_at, done.note, done.resolved_at) == (
        NOON + MINUTE,
        "On it",
        NOON + MINUTE,
    )
    with pytest.raises(Conflict):
        await acts.change(here, incident.id, IncidentChange(acknowledged=True))
    with pytest.raises(Invalid):
        await acts.change(here, incident.id, IncidentChange())
    with pytest.raises(NotFound):
        await acts.change(here, 99, IncidentChange(note="x"))


async def test_incident_acts_are_undone_in_reverse_order(db: Database) -> None:
    await checked(db, FAILED, NOON, "db", "mail")
    first, second = await incidents.live(db)
    await follow(db, SERVICES, now=NOON)
    wanted = [
        IncidentChange(note="On it"),
        IncidentChange(acknowledged=True, note="Waiting for a disk"),
        IncidentChange(merge_into=first.id),
        IncidentChange(separate=True),
        IncidentChange(outcome=IncidentOutcome.BY_PERSON),
    ]
    states = [await now_of(db, second)]
    for minute, each in enumerate(wanted, 1):
        await acts.change(context(db, NOON + minute * MINUTE), second.id, each)
        states.append(await now_of(db, second))
    here = context(db, NOON + 9 * MINUTE)
    await learn(here, SERVICES)
    done = (await journal.page(db, limit=9)).items
    with pytest.raises(Conflict):
        await incident_changes.revert(here, done[3].id)  # acknowledged, and resolved since

    for act_done, before in zip(done, states[-2::-1], strict=True):
        await incident_changes.revert(here, act_done.id)
        undone = await now_of(db, second)
        assert undone.live == before.live
        plain = [replace(each, version=0, resolved_at=None) for each in (undone, before)]
        assert plain[0] == plain[1], act_done.subject

    assert await outcomes.of_incident(db, second.id) == []
    await well(db, "db", "mail")
    assert await incidents.live(db) == []


async def test_incident_act_cannot_be_undone_after_a_later_change(db: Database) -> None:
    await checked(db, FAILED, NOON, "db", "mail")
    await checked(db, FAILED, NOON, "shop")
    first, second, other = await incidents.live(db)
    wanted = [
        *(IncidentChange(note=each) for each in ("A", "B", "A")),
        IncidentChange(merge_into=first.id),
        IncidentChange(separate=True),
        IncidentChange(merge_into=other.id),
    ]
    for minute, each in enumerate(wanted, 1):
        await acts.change(context(db, NOON + minute * MINUTE), second.id, each)
    before = await now_of(db, second)
    noted, _, _, merged, _, _ = reversed((await journal.page(db, limit=9)).items)

    for each in (noted, merged):
        with pytest.raises(Conflict, match="was changed since"):
            await incident_changes.revert(context(db, NOON + 9 * MINUTE), each.id)
    assert await now_of(db, second) == before


async def test_repeated_acknowledgment_is_one_act_and_its_undo_restores_the_time(
    db: Database,
) -> None:
    incident = await failing(db, "mail")
    for minute, acknowledged in enumerate((False, True, True, False, False), 1):
        change = IncidentChange(acknowledged=acknowledged)
        await acts.change(context(db, NOON + minute * MINUTE), incident.id, change)
    refused, acknowledged = (await journal.page(db, limit=9)).items
    here = context(db, NOON + 9 * MINUTE)

    await incident_changes.revert(here, refused.id)
    assert (await now_of(db, incident)).acknowledged_at == NOON + 2 * MINUTE
    await incident_changes.revert(here, acknowledged.id)
    assert (await now_of(db, incident)).acknowledged_at is None


async def test_undone_resolution_restores_the_escalation_to_a_person(
    db: Database,
) -> None:
    incident = await failing(db, "mail")
    by = await session(db, tier=3)
    await chain.ask_person(db, by, "mail", "connection refused", now=NOON)
    before = await escalations.open_for_people(db)
    here = context(db, NOON + MINUTE)
    await acts.change(here, incident.id, IncidentChange(outcome=IncidentOutcome.BY_PERSON))
    [resolved] = (await journal.page(db, limit=9)).items

    await incident_changes.revert(here, resolved.id)

    after = await escalations.open_for_people(db)
    assert [(each.state, each.why) for each in after] == [(each.state, each.why) for each in before]
    assert before[0].why


async def test_reopened_incident_is_not_learned_from(
    db: Database,
) -> None:
    incident = await failing(db, "mail")
    here = context(db, NOON + MINUTE)
    await acts.change(here, incident.id, IncidentChange(outcome=IncidentOutcome.BY_PERSON))
    assert [each.id for each in await incidents.unlearned(db)] == [incident.id]
    [resolved] = (await journal.page(db, limit=9)).items
    await incident_changes.revert(here, resolved.id)

    async with writing(db):  # as what read it before the undo
        assert not await incidents.claim_learning(db, incident.id, now=here.now())


async def test_resolution_cannot_be_undone_after_a_new_failure_of_its_service(db: Database) -> None:
    incident = await failing(db, "mail")
    await acts.change(
        context(db, NOON + MINUTE), incident.id, IncidentChange(outcome=IncidentOutcome.BY_PERSON)
    )
    await well(db, "mail")
    await checked(db, FAILED, NOON + 20 * MINUTE, "mail")
    [act_done] = (await journal.page(db, limit=9)).items

    with pytest.raises(Conflict, match="is open for mail"):
        await incident_changes.revert(context(db, NOON + 21 * MINUTE), act_done.id)


async def test_merged_incidents_combine_their_services_and_sessions(db: Database) -> None:
    await checked(db, FAILED, NOON, "db", "mail")
    first, second = await incidents.live(db)
    by = await answered(db, second)
    await follow(db, SERVICES, now=NOON)
    here = context(db, NOON + MINUTE)

    merged = await acts.change(here, second.id, IncidentChange(merge_into=first.id))

    assert (merged.outcome, merged.merged_into) == (IncidentOutcome.MERGED, first.id)
    assert (await now_of(db, first)).services == ("db", "mail")
    assert await incidents.session_ids(db, first.id) == [by.id]
    with pytest.raises(Invalid):
        await acts.change(here, first.id, IncidentChange(merge_into=second.id))
    await well(db, "db", "mail")
    assert await incidents.live(db) == []


async def test_merged_incidents_can_be_separated(db: Database) -> None:
    await checked(db, FAILED, NOON, "db", "mail")
    first, second = await incidents.live(db)
    by = await answered(db, second)
    await follow(db, SERVICES, now=NOON)
    before = [await now_of(db, each) for each in (first, second)]
    here = context(db, NOON + MINUTE)
    await acts.change(here, second.id, IncidentChange(merge_into=first.id))

    again = await acts.change(here, second.id, IncidentChange(separate=True))

    assert (again.outcome, again.merged_into, again.resolved_at) == ("", None, None)
    for was, now in zip(before, [await now_of(db, each) for each in before], strict=True):
        assert (now.services, now.started_at) == (was.services, was.started_at)
    assert await incidents.session_ids(db, second.id) == [by.id]
    ends = [(await incidents.entries(db, each.id))[-1].text for each in (first, second)]
    assert ends == [
        f"incident {second.id} was separated again",
        f"separated from incident {first.id}",
    ]
    with pytest.raises(Conflict):
        await acts.change(here, second.id, IncidentChange(separate=True))
    await well(db, "db", "mail")
    assert await incidents.live(db) == []


async def test_incident_keeps_the_start_of_the_incidents_merged_into_it(db: Database) -> None:
    names, at = ("db", "mail", "dns"), {}
    alone = Services(tuple(Service(name=name, checks=PORT) for name in names))
    for minute, name in enumerate(names):
        moment = NOON + minute * MINUTE
        run = CheckRun(service=name, check="tcp", kind="tcp", at=moment, state=FAILED)
        await check_runs.record(context(db, moment), [run], alone)
        at[name] = next(each for each in await incidents.live(db) if each.service == name)
    here, last = context(db, NOON + 4 * MINUTE), at["dns"].id
    for name in ("mail", "db"):
        await acts.change(here, at[name].id, IncidentChange(merge_into=last))

    await acts.change(here, at["mail"].id, IncidentChange(separate=True))

    assert (await now_of(db, at["dns"])).started_at == at["db"].started_at


CHAIN = Services(
    (
        Service(name="db", checks=PORT),
        Service(name="api", checks=PORT, depends_on=("db",)),
        Service(name="web", checks=PORT, depends_on=("api",)),
    )
)


async def measured(db: Database, second: float, name: str, state: PointState = FAILED) -> None:
    """Record one result of a service of the chain, and follow the incidents."""
    at = NOON + second * SECOND
    detail = "connection refused" if state is FAILED else ""
    run = CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail=detail)
    await check_runs.record(context(db, at), [run], CHAIN)
    await follow(db, CHAIN, now=at)


async def measured_before_its_root(db: Database) -> None:
    """Let a service fail twelve seconds before the service between it and its root does."""
    await measured(db, 0, "web")
    await measured(db, 1, "db")
    await measured(db, 11, "db")
    assert [each.service for each in await incidents.live(db)] == ["db", "web"]
    await measured(db, 12, "api")


async def test_service_that_fails_before_its_root_cause_joins_its_incident(
    db: Database,
) -> None:
    db.telling = NoticePolicy()
    await measured_before_its_root(db)

    [incident] = await incidents.live(db)
    assert (incident.service, set(incident.services)) == ("db", {"db", "api", "web"})
    found = (await incidents.page(db, incidents.IncidentSelection(), limit=9)).items
    [merged] = [each for each in found if each.id != incident.id]
    assert (merged.outcome, merged.merged_into) == (IncidentOutcome.MERGED, incident.id)
    assert [each.id for each in (await requests.page(db, RequestState.QUEUED, limit=9)).items] == [
        incident.request_id
    ]
    for name in ("db", "api", "web"):
        await measured(db, 40, name, PASSED)
        await measured(db, 41, name, PASSED)
    opened, ended = await told(db)
    assert opened[2].startswith("db fails: tcp: connection refused")
    assert ended[2].startswith("db is healthy again")


async def test_separated_incidents_are_not_merged_again(db: Database) -> None:
    await measured_before_its_root(db)
    found = (await incidents.page(db, incidents.IncidentSelection(live=False), limit=9)).items
    await acts.change(context(db, NOON), found[0].id, IncidentChange(separate=True))

    await measured(db, 14, "web")
    await measured(db, 15, "api")

    assert [each.service for each in await incidents.live(db)] == ["db", "web"]


async def test_root_cause_that_recovers_first_remains_the_root_cause(
    db: Database,
) -> None:
    await measured(db, 0, "db")
    await measured(db, 1, "db", PASSED)
    await measured(db, 1.5, "api")
    await measured(db, 2, "db", PASSED)

    [incident] = await incidents.live(db)
    assert (incident.service, incident.services) == ("db", ("db", "api"))
    assert incident.title == "db fails: tcp: connection refused"


async def test_timeline_is_in_order_with_the_evidence(db: Database) -> None:
    incident = await failing(db, "db", "Web")
    by = await answered(db, incident, tier=3)
    await acted(db, by, service="db", now=NOON + 2 * SECOND)
    use = (by, "db", ActionKind.RESTART, UseOutcome.REFUSED)
    async with writing(db):
        lines, about = "tcp: refused\nhttp: answered 503", {"service": "db", "now": NOON}
        await incidents.add_entry(db, incident.id, EntryKind.JOINED, lines, **about)
        text = "no decision within 1 min"
        await cooldowns.insert_settled(db, *use, name="restart", text=text, now=NOON + SECOND)
        repeated = f"Restart refused: {text}."
        await events.insert_for(
            db, by, Level.WARNING, repeated, service="db", now=NOON + 2 * SECOND
        )
    await follow(db, SERVICES, now=NOON + SECOND)
    await well(db, "db", "Web", at=NOON + MINUTE, since=LASTS)

    shown = await incident_view.read(db, incident.id, now=NOON + MINUTE)

    kinds = [each["kind"] for each in shown["timeline"]]
    assert kinds[0] == "opened"
    assert kinds[-1] == "resolved"
    assert {"joined", "session_started", "action", "recovered"} <= set(kinds)
    acts_of = [each["text"] for each in shown["timeline"] if each["kind"] == "action"]
    assert acts_of[0] == "restart (refused): no decision within 1 min"
    words = [each["text"] for each in shown["timeline"]]
    assert repeated not in words
    assert "tcp: refused; http: answered 503" in words
    assert shown["members"][0]["detail"] == "tcp: connection refused"
    assert [each["at"] for each in shown["timeline"]] == sorted(
        each["at"] for each in shown["timeline"]
    )
    assert shown["same_root"] == {"week": 1, "month": 1}


async def test_last_passed_returns_the_last_success_of_failing_checks(db: Database) -> None:
    await well(db, "db", "mail", at=NOON)
    for number in (1, 2):
        await checked(db, FAILED, NOON + number * MINUTE, "db", "shop")

    assert await series.last_passed(db, ["db", "mail", "shop"]) == {("db", "tcp"): NOON}


async def test_timeline_omits_events_of_other_services(
    db: Database,
) -> None:
    incident = await failing(db, "db")
    by = await answered(db, incident)
    async with writing(db):
        for name in ("db", "mail", "unheard-of"):
            await events.insert(
                db,
                Level.WARNING,
                f"{name} is slow",
                service=name,
                session_id=by.id,
                source="session",
                now=NOON,
            )
    await follow(db, SERVICES, now=NOON + SECOND)

    shown = await incident_view.read(db, incident.id, now=NOON)

    texts = [each["text"] for each in shown["timeline"] if each["kind"] == "event"]
    assert texts == ["db is slow"]


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(st.sampled_from(["db", "Web", "mail"]), st.booleans()), min_size=1, max_size=25
    )
)
async def test_each_service_is_in_at_most_one_open_incident(
    db: Database, results: list[tuple[str, bool]]
) -> None:
    start = NOON + timedelta(days=next(DAYS))
    for number, (name, ok) in enumerate(results):
        await checked(db, PASSED if ok else FAILED, start + number * MINUTE, name)
        await follow(db, SERVICES, now=start + number * MINUTE)
        members = [name for each in await incidents.live(db) for name in each.services]
        assert len(members) == len(set(members))
    end = start + timedelta(hours=1)
    await well(db, "db", "Web", "mail", at=end)
    assert await incidents.live(db) == []


async def test_incident_of_returns_the_incident_of_each_session(db: Database) -> None:
    await checked(db, FAILED, NOON, "db", "mail")
    first, second = await incidents.live(db)
    one, two = await answered(db, first), await answered(db, second)

    await follow(db, SERVICES, now=NOON)

    assert await incidents.incident_of(db, [one.id, two.id]) == {
        one.id: first.id,
        two.id: second.id,
    }
    assert await sessions.get(db, one.id) is not None


async def test_session_of_an_escalation_has_an_incident(db: Database) -> None:
    first = await session(db, tier=1)
    second = await session(db, tier=2, parent_id=first.id)
    async with writing(db):
        await escalations.insert(
            db, first.id, 2, "mail", "down", state=EscalationState.ACCEPTED, now=NOON
        )
        await escalations.change_state(
            db,
            first.id,
            EscalationState.ACCEPTED,
            EscalationState.TAKEN,
            child_id=second.id,
            now=NOON,
        )

    await follow(db, SERVICES, now=NOON + SECOND)
    [incident] = await incidents.live(db)
    assert await incidents.session_ids(db, incident.id) == [first.id, second.id]


async def test_repair_by_an_unlinked_session_is_credited(db: Database) -> None:
    incident = await failing(db, "mail")
    by = await session(db, tier=3)
    await acted(db, by, service="mail", now=NOON + SECOND)
    await well(db, "mail", at=NOON + MINUTE)
    assert (await now_of(db, incident)).outcome is IncidentOutcome.REPAIRED


async def test_expired_certificate_opens_its_own_incident_after_the_root_recovers(
    db: Database,
) -> None:
    first = await failing(db, "db", "Web")

    async def results(at: datetime, *states: tuple[str, PointState, str]) -> None:
        runs = [
            CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail=detail)
            for name, state, detail in states
        ]
        await check_runs.record(context(db, at), runs, SERVICES)

    expired = ("Web", FAILED, "certificate expired 2 days ago")
    await results(NOON + MINUTE, ("db", PASSED, ""), expired)
    assert [each.id for each in await incidents.live(db)] == [first.id]

    await results(NOON + 2 * MINUTE, ("db", PASSED, ""), expired)
    [second] = await incidents.live(db)
    assert second.title == "Web fails: tcp: certificate expired 2 days ago"
    assert second.request_id != first.request_id
    ended = await incidents.get(db, first.id)
    assert ended is not None
    assert (ended.outcome, ended.services) == (IncidentOutcome.RECOVERED, ("db",))
    await results(NOON + 3 * MINUTE, ("db", PASSED, ""), expired)
    assert [each.id for each in await incidents.live(db)] == [second.id]


async def test_service_with_the_same_failure_remains_in_the_incident_of_its_root(
    db: Database,
) -> None:
    first = await failing(db, "db", "Web")
    for minute in (1, 2):
        await checked(db, PASSED, NOON + minute * MINUTE, "db")
        await checked(db, FAILED, NOON + minute * MINUTE + SECOND, "Web")
    [found] = await incidents.live(db)
    assert (found.id, found.services) == (first.id, ("db", "Web"))


async def test_member_is_checked_again_before_its_investigation_after_the_root_recovers(
    db: Database,
) -> None:
    first = await failing(db, "db")
    await checked(db, FAILED, NOON + SECOND, "Web")
    await well(db, "db")

    [found] = await incidents.live(db)
    assert (found.id, found.services) == (first.id, ("db", "Web"))
    assert found.request_id == first.request_id
    now = NOON + 6 * MINUTE
    assert await check_runs.record(context(db, now), (), SERVICES) == {"Web"}, "checked at once"
    await checked(db, FAILED, NOON + 6 * MINUTE, "Web")
    [found] = await incidents.live(db)
    assert found.request_id != first.request_id


async def test_failed_push_job_is_investigated_after_its_root_recovers(
    db: Database,
) -> None:
    job = Service(name="backup", checks=(PushCheck(name="nightly"),), depends_on=("db",))
    declared = Services((*SERVICES, job))
    first = await failing(db, "db")
    at = NOON + SECOND
    run = CheckRun(
        service="backup", check="nightly", kind="push", at=at, state=FAILED, detail="exit status 1"
    )
    await check_runs.record(context(db, at), [run], declared)
    for second in (1, 2, 60):
        passed = CheckRun(
            service="db", check="tcp", kind="tcp", at=at + second * SECOND, state=PASSED
        )
        await check_runs.record(context(db, passed.at), [passed], declared)

    [found] = [each for each in await incidents.live(db) if "backup" in each.services]
    assert found.request_id != first.request_id


async def test_failure_in_a_maintenance_window_opens_no_incident_until_a_later_result(
    db: Database,
) -> None:
    window = MaintenanceWindow(start=NOON - MINUTE, end=NOON + MINUTE)
    declared = Services(
        (Service(name="db", checks=PORT, maintenance=(window,)), Service(name="mail", checks=PORT))
    )

    async def result(name: str, state: PointState, at: datetime) -> list[Incident]:
        run = CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail="refused")
        await check_runs.record(context(db, at), [run], declared)
        return await incidents.live(db)

    assert not await result("db", FAILED, NOON + 58 * SECOND)
    assert not await result("mail", PASSED, NOON + 61 * SECOND)
    assert len(await result("db", FAILED, NOON + 62 * SECOND)) == 1
