"""The task of a session: the input of its engine, read from the database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.service import Service, Services, normalize_service_name
from lamplighter.domain.sessions.session import CheckResult, Session, Trigger
from lamplighter.engines import EngineInput
from lamplighter.repository import Database, reading
from lamplighter.repository.services import checks, cooldowns, findings, incidents, series
from lamplighter.usecases.services import push_checks
from lamplighter.usecases.services.incidents.advise import advice_on, open_evidence
from lamplighter.usecases.services.silence import silences
from lamplighter.usecases.sessions import chain, parking
from lamplighter.usecases.sessions.sessions import OpenedSession

MAX_CHECK_RESULTS: Final = 10
MAX_USES: Final = 20
MAX_FINDINGS: Final = 20


async def task(
    db: Database,
    opened: OpenedSession,
    services: Services,
    active: Configuration,
    *,
    now: datetime,
) -> EngineInput:
    """Return the task of an opened session.

    The task includes the dependencies of services in scope: an investigation checks them first.
    """
    wanted = opened.session.services
    in_scope = tuple(each for each in services if wanted is None or each.name in wanted)
    async with reading(db):
        around = services.with_needs(in_scope)
        waiting = await chain.services_waiting(db, around, active, now=now)
        in_use = await parking.services_in_use(db, but=opened.session.id)
        results = await _recent_results(db, around)
        return EngineInput(
            session=opened.session,
            system=opened.prompt.system,
            injected=opened.prompt.injected,
            message=opened.prompt.message,
            services=await push_checks.with_results(db, in_scope),
            declared=await push_checks.with_results(db, services),
            memories=opened.included,
            check_results=results,
            uses={
                each.name: tuple(await cooldowns.recent(db, each.name, limit=MAX_USES))
                for each in in_scope
            },
            findings={
                each.name: tuple(await findings.recent(db, each.name, limit=MAX_FINDINGS))
                for each in in_scope
            },
            waiting={name: each.waiting_since for name, each in waiting.items()},
            parked={
                each.name: in_use[normalize_service_name(each.name)]
                for each in around
                if normalize_service_name(each.name) in in_use
            },
            known_fix=await known_fixes_of(db, opened.session, services, now=now),
            failed=await _just_failed(db, around, results, now=now),
            passed=await _last_passed(db, around),
            commands=opened.session.tier in active.shell_tiers,
            handoff=opened.handoff,
        )


async def known_fixes_of(
    db: Database, session: Session, services: Services, *, now: datetime
) -> dict[str, str]:
    """Return the actions that are known to repair the failures of a session's services.

    A session that does not begin with a known fix repeats no action that was tried in the incident.
    """
    if session.tier < MAX_TIER:
        return {}
    fixes = await known_fixes(db, session.services or (), services, now=now)
    if session.trigger is Trigger.KNOWN_FIX:
        return fixes
    began = {each.service: each.started_at for each in await incidents.live(db) if fixes}
    return {
        name: action
        for name, action in fixes.items()
        if not any(
            use.name == action and use.created_at >= began[name]
            for use in await cooldowns.recent(db, name, limit=MAX_USES)
        )
    }


async def known_fixes(
    db: Database, names: Sequence[str], services: Services, *, now: datetime
) -> dict[str, str]:
    """Return the actions that are known to repair the open incidents of some root causes."""
    fixes = {}
    silent = await silences(db, services, at=now)
    for name in names:
        if name not in silent and (evidence := await open_evidence(db, name)):
            advice = await advice_on(db, services.find(name), evidence, now=now)
            if advice.fix:
                fixes[name] = advice.fix.action
    return fixes


async def _just_failed(
    db: Database,
    services: Sequence[Service],
    results: Mapping[str, Sequence[CheckResult]],
    *,
    now: datetime,
) -> dict[str, str]:
    """Return the checks that failed recently, as "service/check", with the reason."""
    measured = await series.just_failed(db, [each.name for each in services], now=now)
    since = now - series.JUST_NOW
    of_sessions = {
        key: last.detail
        for key, newest in results.items()
        for last in newest[:1]
        if not last.ok and last.at and last.at >= since
    }
    return of_sessions | {f"{name}/{check}": why for (name, check), why in measured.items()}


async def _last_passed(db: Database, services: Sequence[Service]) -> dict[str, datetime]:
    """Return when failing checks last passed on their schedule, by "service/check"."""
    found = await series.last_passed(db, [each.name for each in services])
    return {f"{name}/{check}": at for (name, check), at in found.items()}


async def _recent_results(
    db: Database, services: Sequence[Service]
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the last results of each check, by service and check name."""
    return {
        f"{service.name}/{check.name}": tuple(
            await checks.recent(db, service.name, check.name, limit=MAX_CHECK_RESULTS)
        )
        for service in services
        for check in service.checks
    }
