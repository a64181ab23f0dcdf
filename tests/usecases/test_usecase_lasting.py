"""A repair counts if its service stays healthy: an immediate crash is no repair."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from acting import RESTART, acted, marked
from examples import rows, session

from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.learning.outcome import ActionResult
from lamplighter.domain.memory.memory import Candidate, Category, Source, Trust
from lamplighter.domain.services.check import HttpCheck, TcpCheck, longest_seconds
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.incident import LASTS, EntryKind, Incident, IncidentOutcome
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import CheckResult, Session, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import checks, cooldowns, events, incidents, outcomes
from lamplighter.repository.sessions import requests, sessions
from lamplighter.usecases.memory import curate
from lamplighter.usecases.services import act, check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.lasting import lost_need, refused_actions
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
CHECK = TcpCheck(name="tcp", host="127.0.0.1", port=1, timeout=2, retries=0)
PAGE = HttpCheck(name="http", url="http://127.0.0.1:1/", timeout=2, retries=0)
WEB = Service(name="web", checks=(CHECK,), actions=(RESTART,))
OTHER = Service(name="other", checks=(CHECK,))
DB = Service(name="db", checks=(CHECK,), actions=(RESTART,))
API = Service(name="api", checks=(CHECK, PAGE), actions=(RESTART,), depends_on=("db",))
SERVICES = Services((WEB, OTHER, DB, API))
PASSED, FAILED = PointState.PASSED, PointState.FAILED


async def checked(
    db: Database, *results: tuple[int, PointState], service: str = "web", check: str = "tcp"
) -> None:
    """Record results of a check, each at its number of seconds after noon."""
    for seconds, state in results:
        at = NOON + seconds * SECOND
        detail = "connection refused at 127.0.0.1:1" if state is FAILED else ""
        run = CheckRun(service=service, check=check, kind=check, at=at, state=state, detail=detail)
        await check_runs.record(context(db, at), [run], SERVICES)


async def restarted(
    db: Database, *names: str, at: int = 5, outcome: UseOutcome = UseOutcome.SUCCESS
) -> tuple[Incident, Session]:
    """Let services fail at noon, and a session restart the last one and find it healthy."""
    names = names or ("web",)
    for name in names:
        await checked(db, (0, FAILED), service=name)
    [incident] = await incidents.live(db)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    moment = NOON + at * SECOND
    await acted(db, by, service=names[-1], now=moment, outcome=outcome)
    await follow(db, SERVICES, now=moment)
    if outcome is not UseOutcome.RESERVED:  # else its session still runs
        await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    return incident, by


async def outcome_of_use(db: Database, by: Session) -> UseOutcome:
    [use] = await cooldowns.of_sessions(db, [by.id])
    return use.outcome


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
async def test_repair_lasts_after_five_passes_or_fifteen_seconds(
    db: Database, seconds: Sequence[int], over: bool
) -> None:
    assert timedelta(seconds=15) == LASTS
    incident, _ = await restarted(db)

    await checked(db, *((each, PASSED) for each in seconds))

    found = await now_of(db, incident)
    assert found.outcome is (IncidentOutcome.REPAIRED if over else IncidentOutcome.NONE)


async def test_repair_that_does_not_last_fails_and_is_investigated_again(
    db: Database,
) -> None:
    incident, by = await restarted(db)
    first = (await now_of(db, incident)).request_id

    await checked(db, (6, PASSED), (7, PASSED), (8, FAILED))

    [use] = await cooldowns.of_sessions(db, [by.id])
    words = "done, but did not last: tcp: connection refused at 127.0.0.1:1"
    assert (use.outcome, use.text, use.did_not_last) == (UseOutcome.FAILURE, words, True)
    outcome = (await sessions.get(db, by.id) or by).outcome
    assert outcome == "restart of web did not last"
    told = (await events.page(db, events.EventSelection(), limit=9)).items[0]
    assert told.text == "Restart did not last: tcp: connection refused at 127.0.0.1:1"
    again = await now_of(db, incident)
    assert again.live
    assert again.request_id != first, "investigated at once, without the rest of 5 minutes"
    refused = await refused_actions(db, WEB, "tcp: refused", now=NOON)
    why = "did not last: tcp: connection refused at 127.0.0.1:1"
    assert refused == {"restart": f"restart of web {why}"}

    await checked(db, (9, FAILED), (10, FAILED))
    assert (await now_of(db, incident)).request_id == again.request_id

    await checked(db, (60, PASSED), (61, PASSED))
    assert (await now_of(db, incident)).live, "it crashes after each start: two passes show nothing"
    await checked(db, (75, PASSED))
    ended = await now_of(db, incident)
    assert ended.outcome is IncidentOutcome.RECOVERED, "no action ran before it passed again"
    assert await learn(context(db, NOON + 2 * MINUTE), SERVICES) == 1
    [record] = await outcomes.of_incident(db, incident.id)
    assert record.result is ActionResult.FAILED
    [memory] = await memories.list_by_ids(db, range(1, 9))
    assert memory.observation == "Restart does not help against 'connection refused' on web: 0 of 1"


async def test_successful_second_attempt_clears_did_not_last(db: Database) -> None:
    _, by = await restarted(db, outcome=UseOutcome.RESERVED)
    [use] = await cooldowns.of_sessions(db, [by.id])
    await act.settle(db, use, UseOutcome.SUCCESS, text="done", now=NOON + 5 * SECOND)
    await checked(db, (6, PASSED), (7, PASSED), (8, FAILED))
    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.did_not_last
    known = Candidate(
        category=Category.REMEDIATION,
        service="web",
        observation="The first restart fails",
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        trust=Trust.TRUSTED,
    )
    await curate.create(context(db, NOON), known)

    at = NOON + 20 * SECOND
    second = await act.reserve(db, by, "web", RESTART, again=use.id, now=at)
    second = await act.settle(db, second, UseOutcome.SUCCESS, text="done", now=at)

    assert (second.id, second.attempts) == (use.id, 2)
    assert (second.outcome, second.did_not_last) == (UseOutcome.SUCCESS, False)


async def test_check_started_before_the_service_was_healthy_is_ignored(db: Database) -> None:
    incident, by = await restarted(db)
    async with writing(db):  # what its session saw after the action
        seen = CheckResult(service="web", name="tcp", kind="tcp", ok=True)
        await checks.insert(db, by.id, seen, now=NOON + 5 * SECOND)
    late = 5 + int(longest_seconds(CHECK))

    await checked(db, (late, FAILED))  # it may have asked before the restart
    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.outcome is UseOutcome.SUCCESS

    await checked(db, (late + 1, FAILED))
    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.did_not_last
    assert (await now_of(db, incident)).live


async def test_failure_of_a_check_started_before_the_repair_is_ignored(db: Database) -> None:
    await checked(db, (-9, PASSED), service="api", check="http")
    _, by = await restarted(db, "db", "api")

    await checked(db, (6, FAILED), service="api", check="http")  # it waited since before the action
    await checked(db, (6, PASSED), service="api")
    assert await outcome_of_use(db, by) is UseOutcome.SUCCESS

    await checked(db, (20, FAILED), service="api", check="http")
    assert await outcome_of_use(db, by) is UseOutcome.FAILURE


async def test_check_that_the_action_did_not_repair_is_ignored(db: Database) -> None:
    await checked(db, (-9, FAILED), service="api", check="http")
    incident, by = await restarted(db, "db", "api")

    await checked(db, (60, PASSED), service="api")
    await checked(db, (60, FAILED), (120, FAILED), service="api", check="http")

    assert await outcome_of_use(db, by) is UseOutcome.SUCCESS
    assert (await now_of(db, incident)).live


@pytest.mark.parametrize(("seconds", "lost"), [((30, 31), True), ((), False)])
async def test_unconfirmed_action_did_not_last_if_its_service_passed_briefly(
    db: Database, seconds: Sequence[int], *, lost: bool
) -> None:
    _, by = await restarted(db, outcome=UseOutcome.UNCONFIRMED)

    await checked(db, *((each, PASSED) for each in seconds), (90, FAILED))

    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.did_not_last is lost
    assert use.outcome is (UseOutcome.FAILURE if lost else UseOutcome.UNCONFIRMED)


async def test_lasting_repair_remains_successful_while_its_incident_is_open(db: Database) -> None:
    incident, by = await restarted(db, "db", "api")
    await checked(db, *((each, PASSED) for each in range(6, 12)), service="api")

    await checked(db, (600, FAILED), (660, FAILED), service="api")

    assert (await now_of(db, incident)).live, "db still fails"
    assert await outcome_of_use(db, by) is UseOutcome.SUCCESS


async def test_results_of_other_services_do_not_make_a_repair_last(db: Database) -> None:
    incident, _ = await restarted(db)
    await checked(db, (6, PASSED), (7, PASSED))

    await checked(db, (30, PASSED), service="other")

    assert (await now_of(db, incident)).live, "web passed for one second only"


async def test_action_settled_after_its_service_passed_must_last(db: Database) -> None:
    incident, by = await restarted(db, outcome=UseOutcome.RESERVED)
    await checked(db, (6, PASSED), (7, PASSED))
    [use] = await cooldowns.of_sessions(db, [by.id])
    await act.settle(db, use, UseOutcome.SUCCESS, text="done", now=NOON + 8 * SECOND)

    await follow(db, SERVICES, now=NOON + 8 * SECOND)

    assert (await now_of(db, incident)).live


async def test_action_that_did_not_last_is_refused_for_every_service_of_the_incident(
    db: Database,
) -> None:
    incident, _ = await restarted(db, "db", "api")
    assert incident.service == "db"
    await checked(db, (6, PASSED), (7, FAILED), service="api")

    assert list(await refused_actions(db, API, "tcp: refused", now=NOON)) == ["restart"]


async def test_lost_need_is_reported_until_the_dependency_recovers(db: Database) -> None:
    incident, _ = await restarted(db, "api", "db")
    await checked(db, (6, PASSED), (7, FAILED), (8, PASSED), service="db")
    need, why = await lost_need(db, SERVICES, API, now=NOON)
    assert (need, why.startswith("restart of db did not last: ")) == ("db", True)

    await checked(db, (30, PASSED), service="db")

    assert (await now_of(db, incident)).live, "api still fails"
    assert await lost_need(db, SERVICES, API, now=NOON) == ("", "")


@pytest.mark.parametrize(
    ("said", "before"),
    [("success - healthy", True), ("success - healthy", False), ("failure - crashed", False)],
)
async def test_cooldown_marker_does_not_hide_that_a_repair_did_not_last(
    db: Database, said: str, before: bool
) -> None:
    incident, by = await restarted(db)
    marker = f"[COOLDOWN:restart:web] {said}"
    if before:
        await marked(db, by, marker, known=["web"])
    await checked(db, (6, PASSED), (8, FAILED))
    if not before:
        await marked(db, by, marker, known=["web"])

    [use] = await cooldowns.of_sessions(db, [by.id])
    assert use.did_not_last
    await checked(db, (60, PASSED), (75, PASSED))
    await learn(context(db, NOON + 2 * MINUTE), SERVICES)
    [record] = await outcomes.of_incident(db, incident.id)
    assert record.result is ActionResult.FAILED


async def test_person_is_notified_once_if_no_action_remains(db: Database) -> None:
    db.telling = NoticePolicy()
    incident, _ = await restarted(db)
    await checked(db, (6, PASSED), (8, FAILED))
    for again in (1, 2):  # and its investigations come to nothing
        request = (await now_of(db, incident)).request_id
        async with writing(db):
            await requests.cancel(db, request or 0, now=NOON)
        await checked(db, (again * 400, FAILED))
        assert (await now_of(db, incident)).request_id != request

    kinds = [each.kind for each in await incidents.entries(db, incident.id)]
    assert kinds.count(EntryKind.NO_FIX) == 1
    asked = [
        each
        for each in await rows(db, "notices")
        if "needs a person" in each["title"] + each["body"]
    ]
    assert len(asked) == 1
