"""Simulated incidents, with their actions and learned memories."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from acting import RESTART, acted
from examples import session

from contexts import context
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.learning.outcome import OutcomeRecord
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Action, Service, Services
from lamplighter.domain.sessions.session import Status
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import cooldowns, incidents, outcomes
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.sessions.sessions import SessionEnd, finish

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
PORT = (TcpCheck(name="tcp", host="127.0.0.1", port=1),)
REFUSED = "connection refused at 127.0.0.1:1"
WEB = Service(name="Web", checks=PORT, depends_on=("db", "cache"), actions=(RESTART,))
SERVICES = Services((WEB, Service(name="db", checks=PORT), Service(name="cache", checks=PORT)))
FIXED = "Restart fixes 'connection refused' on Web: {}"


def with_actions(*actions: Action) -> Services:
    return Services((replace(WEB, actions=actions), *SERVICES.items[1:]))


async def checked(
    db: Database,
    state: PointState,
    at: datetime,
    *names: str,
    detail: str = REFUSED,
    services: Services = SERVICES,
    repairs: bool = True,
) -> None:
    detail = detail if state is PointState.FAILED else ""
    runs = [
        CheckRun(service=name, check="tcp", kind="tcp", at=at, state=state, detail=detail)
        for name in names
    ]
    others = [
        replace(runs[0], service=each.name, check=one.name, state=PointState.PASSED, detail="")
        for each in services
        for one in each.checks
        if each.name in names and one.name != "tcp"
    ]
    await check_runs.record(context(db, at), [*runs, *others], services, repairs=repairs)


async def failing(db: Database, at: datetime, *names: str, **more: object) -> Incident:
    names = names or ("Web",)
    well = [each.name for each in SERVICES if each.name not in names]
    await checked(db, PointState.FAILED, at, *names, **more)  # type: ignore[arg-type]
    await checked(db, PointState.PASSED, at + SECOND, *well, **more)  # type: ignore[arg-type]
    [found] = await incidents.live(db)
    return found


async def happened(
    db: Database,
    at: datetime,
    *,
    ok: bool | None = True,
    seconds: float | None = 6.0,
    detail: str = REFUSED,
    services: Services = SERVICES,
    action: Action = RESTART,
    names: Sequence[str] = ("Web",),
    due: int = 1,
) -> OutcomeRecord:
    """Run an entire incident, with an action on Web unless `ok` is None, and learn from it."""
    incident = await failing(db, at, *names, detail=detail, services=services)
    assert incident.request_id
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id, by.id, now=at)
    if ok is not None:
        use = await acted(db, by, ok=ok, now=at + SECOND, action=action)
        if ok and seconds is not None:
            async with writing(db):
                await cooldowns.record_recovery(
                    db, use.id, seconds, session_id=by.id, now=at + SECOND
                )
    await finish(context(db, at), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for moment in (at + MINUTE, at + 2 * MINUTE):
        await checked(db, PointState.PASSED, moment, *names, services=services)
    assert await learn(context(db, at + 3 * MINUTE), services) == due
    return (await outcomes.of_incident(db, incident.id))[0]


async def held(db: Database) -> list[tuple[str, float]]:
    found = await memories.list_by_ids(db, range(1, 20))
    return [(each.observation, each.confidence) for each in found if each.active]
