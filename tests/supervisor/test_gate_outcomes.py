"""The gate and outcomes: an action known not to help is refused, and a person may try it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from gates import NOON, REDEPLOY, RESTART, WEB, gate, opened

from contexts import context
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Action, Service, Services
from lamplighter.domain.sessions.session import CheckResult, Session, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns, incidents
from lamplighter.repository.sessions import escalations, requests
from lamplighter.usecases.services import act, check_runs
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.services.incidents.learn import learn

REFUSED = "connection refused at 127.0.0.1:1"
SENTENCE = "Restart does not help against 'connection refused' on Web: 0 of 1 (memory 1)"


def declared(*actions: Action) -> Services:
    checks = (TcpCheck(name="tcp", host="127.0.0.1", port=1),)
    return Services((replace(WEB, checks=checks, actions=actions),))


async def down(session: Session, service: Service) -> list[CheckResult]:
    """Return the check results of a dead service."""
    result = CheckResult(
        service=service.name, name="tcp", kind="tcp", ok=False, detail=REFUSED, answered=False
    )
    return [result]


async def learned(db: Database, services: Services) -> None:
    """Let an incident end that a restart did not repair."""
    for minutes, state in enumerate((PointState.FAILED, PointState.PASSED, PointState.PASSED)):
        at = NOON + timedelta(minutes=minutes)
        run = CheckRun(service="Web", check="tcp", kind="tcp", at=at, state=state, detail=REFUSED)
        await check_runs.record(context(db, at), [run], services)
        if state is PointState.FAILED:
            [incident] = await incidents.live(db)
            by = await opened(db)
            async with writing(db):
                await requests.claim(db, incident.request_id or 0, by.id, now=at)
            use = await act.reserve(db, by, "Web", RESTART, now=at)
            await act.settle(db, use, UseOutcome.FAILURE, text="", now=at)
    assert await learn(context(db), services) == 1


async def test_action_known_not_to_help_is_refused_and_escalated_to_a_person(
    db: Database,
) -> None:
    services = declared(RESTART)
    await learned(db, services)
    verdict = await gate(db, await opened(db), services=services, check=down).run_action(
        "Web", "restart"
    )
    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, SENTENCE)
    assert [each.reason for each in await escalations.open_for_people(db)] == [SENTENCE]


async def test_next_action_is_tried_before_escalating_to_a_person(db: Database) -> None:
    services = declared(RESTART, replace(REDEPLOY, wait=0.1))
    await learned(db, services)
    acting = gate(db, await opened(db), services=services, check=down)
    assert (await acting.run_action("Web", "restart")).outcome is UseOutcome.REFUSED
    assert not await escalations.open_for_people(db)
    assert (await acting.run_action("Web", "redeployment")).ran


async def test_manual_session_may_run_an_action_known_not_to_help(db: Database) -> None:
    services = declared(replace(RESTART, wait=0.1))
    await learned(db, services)
    by = await opened(db, trigger=Trigger.MANUAL)
    verdict = await gate(db, by, services=services, check=down).run_action("Web", "restart")
    assert verdict.ran


@pytest.mark.parametrize(("minutes", "retries"), [(1, 0), (6, 2)])
async def test_recent_failure_is_confirmed_with_one_attempt(
    db: Database, minutes: int, retries: int
) -> None:
    services, made = declared(replace(RESTART, wait=0.1)), []
    at = NOON - timedelta(minutes=minutes)
    run = CheckRun(
        service="Web", check="tcp", kind="tcp", at=at, state=PointState.FAILED, detail=REFUSED
    )
    await check_runs.record(context(db, at), [run], services)

    async def seen(session: Session, service: Service) -> list[CheckResult]:
        made.extend(each.retries for each in service.checks)
        return await down(session, service)

    await gate(db, await opened(db), services=services, check=seen).run_action("Web", "restart")

    assert made[0] == retries


async def test_confirmed_action_is_settled_at_its_end_not_at_its_checks(db: Database) -> None:
    moments = iter(NOON + timedelta(seconds=each) for each in range(99))
    clock: list[datetime] = []

    def now() -> datetime:
        clock.append(next(moments))
        return clock[-1]

    looks = iter((False, False, True))

    async def slow(session: Session, service: Service) -> list[CheckResult]:
        ok = next(looks)
        return [CheckResult(service="Web", name="tcp", kind="tcp", ok=ok, answered=ok)]

    services = declared(replace(RESTART, wait=5))
    found = gate(db, await opened(db), services=services, check=slow, now=now)
    verdict = await found.run_action("Web", "restart")

    assert verdict.outcome is UseOutcome.SUCCESS
    use = await cooldowns.get(db, verdict.use_id or 0)
    assert use is not None
    assert use.settled_at is not None
    assert use.settled_at < clock[-1], "when the action ended, before its checks were made"


async def test_action_on_a_healthy_service_is_unneeded_despite_its_dependencies(
    db: Database,
) -> None:
    tcp = (TcpCheck(name="tcp", host="127.0.0.1", port=1),)
    services = Services(
        (
            Service(name="Web", checks=tcp, actions=(RESTART,), depends_on=("db",)),
            Service(name="db", checks=tcp, actions=(RESTART,)),
        )
    )
    by = await opened(db)
    for seconds, state in ((0, PointState.FAILED), (6, PointState.PASSED), (7, PointState.FAILED)):
        at = NOON + timedelta(seconds=seconds)
        run = CheckRun(service="db", check="tcp", kind="tcp", at=at, state=state, detail=REFUSED)
        await check_runs.record(context(db, at), [run], services)
        if not seconds:
            [incident] = await incidents.live(db)
            async with writing(db):
                await requests.claim(db, incident.request_id or 0, by.id, now=at)
            use = await act.reserve(db, by, "db", RESTART, now=at)
            await act.settle(db, use, UseOutcome.SUCCESS, text="done", now=at)
            await follow(db, services, now=at)

    async def well(session: Session, service: Service) -> list[CheckResult]:
        return [CheckResult(service=service.name, name="tcp", kind="tcp", ok=True, answered=True)]

    verdict = await gate(db, by, services=services, check=well).run_action("Web", "restart")
    assert verdict.outcome is UseOutcome.UNNEEDED
    verdict = await gate(db, by, services=services, check=down).run_action("Web", "restart")
    assert verdict.outcome is UseOutcome.REFUSED
    assert "depends on db, whose repair did not last" in verdict.text
