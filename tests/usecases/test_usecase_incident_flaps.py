"""A service that fails and recovers by itself, again and again, reaches a person once."""

from datetime import UTC, datetime, timedelta

from contexts import context
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
from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository import Database
from lamplighter.repository.services import incidents, notices
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
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
    runs = [
        CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail="refused")
        for name in names or ("redis", "app")
    ]
    await check_runs.record(context(db, at), runs, SERVICES)


async def sent(db: Database) -> list[tuple[Level, str]]:
    found = (await notices.page(db, None, limit=100)).items
    return [(each.level, each.title) for each in reversed(found)]


async def all_incidents(db: Database) -> list[Incident]:
    found = await incidents.page(db, incidents.IncidentSelection(), limit=9)
    return sorted(found.items, key=lambda each: each.id)


async def test_the_third_short_failure_is_one_incident_for_a_person(db: Database) -> None:
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


async def test_what_the_root_explains_waits_for_it(db: Database) -> None:
    """The app fails a moment before it shows that Redis does."""
    await flap(db, range(32))
    await checked(db, PointState.FAILED, NOON + 32 * SECOND, "app")
    assert [each.live for each in await all_incidents(db)] == [False]

    await checked(db, PointState.FAILED, NOON + 33 * SECOND)
    await checked(db, PointState.FAILED, NOON + 34 * SECOND)

    assert [each.services for each in await incidents.live(db)] == [("redis", "app")]


async def test_it_ends_when_nothing_failed_for_as_long_as_a_rest(db: Database) -> None:
    db.telling = NoticePolicy()
    await flap(db, range(41))
    calm = NOON + 40 * SECOND
    await checked(db, PointState.PASSED, calm + REOPEN_AFTER - SECOND)
    assert [each.live for each in await all_incidents(db)] == [False, True]

    await checked(db, PointState.PASSED, calm + REOPEN_AFTER)

    [_, over] = await all_incidents(db)
    assert (over.outcome, over.resolved_at) == (IncidentOutcome.RECOVERED, calm + REOPEN_AFTER)
    assert [level for level, _ in await sent(db)] == [Level.CRITICAL, Level.INFO]


async def test_one_that_then_fails_for_good_is_investigated_after_its_rest(db: Database) -> None:
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


async def test_an_acknowledged_one_no_longer_needs_a_person(db: Database) -> None:
    await flap(db, range(36))
    found = (await all_incidents(db))[-1]

    await incident_changes.change(
        context(db, NOON + 36 * SECOND), found.id, IncidentChange(acknowledged=True)
    )
    await follow(db, SERVICES, now=NOON + 37 * SECOND)

    assert (await all_incidents(db))[-1].state is IncidentState.OPEN


def test_only_a_failure_after_a_pass_is_another_one() -> None:
    failed, passed, late = PointState.FAILED, PointState.PASSED, PointState.INCONCLUSIVE

    assert count_failures([]) == 1
    assert count_failures([failed, failed, passed, failed, failed]) == 2
    assert count_failures([failed, late, failed, passed, late, failed, passed]) == 2
