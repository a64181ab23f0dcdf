"""A service that repeatedly fails and recovers without help reaches a person once."""

from datetime import UTC, datetime, timedelta

from examples import session

from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    REOPEN_AFTER,
    Incident,
    IncidentOutcome,
    IncidentState,
    count_failures,
)
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import RequestState, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions.sessions import SessionEnd, finish
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXPIRED = "certificate expired 2 days ago"
SERVICES = Services(
    (
        Service(name="redis", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=1),)),
        Service(
            name="app",
            checks=(TcpCheck(name="tcp", host="127.0.0.1", port=2),),
            depends_on=("redis",),
        ),
    )
)


async def flap(db: Database, seconds: range, *, down: int = 8, period: int = 16) -> None:
    """Check every two seconds a link that fails 8 s and recovers 8 s."""
    for second in seconds:
        if second % 2 == 0:
            state = PointState.FAILED if second % period < down else PointState.PASSED
            await checked(db, state, NOON + second * SECOND)
        await follow(db, SERVICES, now=NOON + second * SECOND)


async def checked(db: Database, state: PointState, at: datetime, *names: str) -> None:
    detail = "refused" if state is PointState.FAILED else ""
    await measured(db, at, **dict.fromkeys(names or ("redis", "app"), detail))


async def measured(db: Database, at: datetime, **details: str) -> None:
    """Record one result of each service: the failure, or an empty text if it passed."""
    runs = [
        CheckRun(
            service=name,
            check="tcp",
            kind="tcp",
            at=at,
            state=PointState.FAILED if detail else PointState.PASSED,
            detail=detail,
        )
        for name, detail in details.items()
    ]
    await check_runs.record(context(db, at), runs, SERVICES)


async def sent(db: Database) -> list[tuple[Level, str]]:
    found = (await notices.page(db, None, limit=100)).items
    return [(each.level, each.title) for each in reversed(found)]


async def all_incidents(db: Database) -> list[Incident]:
    found = await incidents.page(db, incidents.IncidentSelection(), limit=9)
    return sorted(found.items, key=lambda each: each.id)


async def test_third_short_failure_opens_one_incident_that_needs_a_person(db: Database) -> None:
    db.telling = NoticePolicy()
    await flap(db, range(100))

    first, second = await all_incidents(db)
    assert (first.outcome, first.notified_at) == (IncidentOutcome.RECOVERED, None)
    assert (second.services, second.state) == (("redis", "app"), IncidentState.NEEDS_PERSON)
    assert second.title == "redis failed 3 times in 32 s: tcp: refused"
    assert await sent(db) == [
        (Level.CRITICAL, "redis needs a person: failed 3 times in 32 s: tcp: refused")
    ]
    assert second.request_id is None


async def test_service_that_flaps_after_a_request_to_a_person_needs_one_again(db: Database) -> None:
    await checked(db, PointState.FAILED, NOON)
    [incident] = await incidents.live(db)
    by = await session(db)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=NOON)
    await chain.ask_person(db, by, "redis", "No restart is left", now=NOON)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    await flap(db, range(10, 100))

    first, second = await all_incidents(db)

    assert (first.live, second.state) == (False, IncidentState.NEEDS_PERSON)
    assert second.title.startswith("redis failed ")


async def test_flapping_of_a_dependent_waits_for_its_root_cause(db: Database) -> None:
    """The app fails a moment before Redis is found to fail."""
    await flap(db, range(32))
    await checked(db, PointState.FAILED, NOON + 32 * SECOND, "app")
    assert [each.live for each in await all_incidents(db)] == [False]

    await checked(db, PointState.FAILED, NOON + 33 * SECOND)
    await checked(db, PointState.FAILED, NOON + 34 * SECOND)

    assert [each.services for each in await incidents.live(db)] == [("redis", "app")]


async def test_flapping_incident_ends_after_a_rest_without_failures(db: Database) -> None:
    db.telling = NoticePolicy()
    await flap(db, range(41))
    calm = NOON + 40 * SECOND
    await checked(db, PointState.PASSED, calm + REOPEN_AFTER - SECOND)
    assert [each.live for each in await all_incidents(db)] == [False, True]

    await checked(db, PointState.PASSED, calm + REOPEN_AFTER)

    [_, over] = await all_incidents(db)
    assert (over.outcome, over.resolved_at) == (IncidentOutcome.RECOVERED, calm + REOPEN_AFTER)
    assert [level for level, _ in await sent(db)] == [Level.CRITICAL, Level.INFO]


async def test_lasting_failure_after_flapping_is_investigated_after_the_rest(db: Database) -> None:
    await flap(db, range(34))
    found = (await all_incidents(db))[-1]

    await checked(db, PointState.FAILED, NOON + REOPEN_AFTER - SECOND)
    waiting = await incidents.get(db, found.id)
    await checked(db, PointState.FAILED, NOON + REOPEN_AFTER)
    asked = await incidents.get(db, found.id)

    assert waiting is not None
    assert asked is not None
    assert asked.request_id is not None
    assert waiting.request_id is None
    request = await requests.get(db, asked.request_id)
    assert request is not None
    assert (request.state, request.services) == (RequestState.QUEUED, ("app", "redis"))


async def test_failure_of_a_minute_opens_an_incident_within_the_rest(
    db: Database,
) -> None:
    await measured(db, NOON, redis="refused", app="answered 503")
    for second in (2, 4):
        await measured(db, NOON + second * SECOND, redis="", app="")
    [over] = await all_incidents(db)
    await measured(db, NOON + 10 * SECOND, redis="", app="refused")
    await measured(db, NOON + 68 * SECOND, redis="", app="refused")
    assert await all_incidents(db) == [over]

    await measured(db, NOON + 70 * SECOND, redis="", app="refused")

    [again] = await incidents.live(db)
    assert (again.services, again.started_at) == (("app",), NOON + 10 * SECOND)
    assert again.request_id is not None


async def test_one_failed_result_is_not_a_lasting_failure(db: Database) -> None:
    """Results of other services, and of a removed check, do not count for it."""
    gone = CheckRun(service="redis", check="gone", kind="tcp", at=NOON, state=PointState.FAILED)
    await check_runs.record(context(db, NOON), [gone], SERVICES)
    await measured(db, NOON, redis="refused", app="")
    for minute in (1, 2):
        await measured(db, NOON + 60 * minute * SECOND, redis="")
    await measured(db, NOON + 180 * SECOND, redis="refused")
    await measured(db, NOON + 241 * SECOND, app="")
    await measured(db, NOON + 242 * SECOND, redis="")

    assert [each.live for each in await all_incidents(db)] == [False]


async def test_repeated_failures_of_a_minute_become_one_flapping_incident(db: Database) -> None:
    for second in range(0, 800, 10):
        failing = "refused" if second % 100 < 70 else ""
        await measured(db, NOON + second * SECOND, redis=failing, app="")
        await follow(db, SERVICES, now=NOON + second * SECOND)

    found = await all_incidents(db)
    assert [each.live for each in found] == [False, False, True]
    assert found[-1].title.startswith("redis failed 3 times in 140 s")


async def test_acknowledged_flapping_incident_no_longer_needs_a_person(db: Database) -> None:
    await flap(db, range(36))
    found = (await all_incidents(db))[-1]

    await incident_changes.change(
        context(db, NOON + 36 * SECOND), found.id, IncidentChange(acknowledged=True)
    )
    await follow(db, SERVICES, now=NOON + 37 * SECOND)

    assert (await all_incidents(db))[-1].state is IncidentState.OPEN


async def test_expired_certificate_beside_a_flapping_dependency_is_one_incident(
    db: Database,
) -> None:
    db.telling = NoticePolicy()
    for second in range(0, 120, 2):
        at = NOON + second * SECOND
        await measured(db, at, redis="refused" if second % 30 < 14 else "", app=EXPIRED)
        await follow(db, SERVICES, now=at)

    assert [(each.service, each.services, each.state) for each in await all_incidents(db)] == [
        ("redis", ("redis",), IncidentState.RESOLVED),
        ("app", ("app",), IncidentState.OPEN),
        ("redis", ("redis",), IncidentState.NEEDS_PERSON),
    ]
    titles = [title for _, title in await sent(db)]
    assert len(titles) == 4
    assert titles[-1] == "redis needs a person: failed 3 times in 60 s: tcp: refused"


async def test_outage_beside_an_incident_that_needs_a_person_is_investigated(
    db: Database,
) -> None:
    db.telling = NoticePolicy()
    for second in range(2):
        await measured(db, NOON + second * SECOND, redis="", app=EXPIRED)
    [waiting] = await incidents.live(db)
    by = await session(db, tier=1)
    async with writing(db):
        await requests.claim(db, waiting.request_id or 0, by.id, now=NOON)
    await chain.ask_person(db, by, "app", "The certificate is expired", now=NOON)
    await finish(context(db, NOON), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    await follow(db, SERVICES, now=NOON + 2 * SECOND)

    for second in range(600, 640, 5):
        at = NOON + second * SECOND
        await measured(db, at, redis="refused", app=EXPIRED)
        await follow(db, SERVICES, now=at)

    first, outage = await all_incidents(db)
    assert (first.services, first.state) == (("app",), IncidentState.NEEDS_PERSON)
    assert outage.services == ("redis",)
    request = await requests.get(db, outage.request_id or 0)
    assert request is not None
    assert (request.state, request.services) == (RequestState.QUEUED, ("redis",))
    assert await sent(db) == [
        (Level.CRITICAL, "app needs a person: The certificate is expired"),
        (Level.CRITICAL, "redis fails: tcp: refused."),
    ]


async def test_service_with_only_short_failures_gets_no_session(db: Database) -> None:
    await flap(db, range(34), down=2)
    rested = int(REOPEN_AFTER / SECOND)
    await flap(db, range(rested, rested + 34), down=2)

    found = (await all_incidents(db))[-1]
    assert (found.title, found.request_id) == ("redis failed 3 times in 32 s: tcp: refused", None)
    assert len(await all_incidents(db)) == 2


def test_count_failures_counts_a_new_failure_only_after_a_pass() -> None:
    failed, passed, late = PointState.FAILED, PointState.PASSED, PointState.INCONCLUSIVE

    assert count_failures([]) == 1
    assert count_failures([failed, failed, passed, failed, failed]) == 2
    assert count_failures([failed, late, failed, passed, late, failed, passed]) == 2
