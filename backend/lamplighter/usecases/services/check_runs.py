"""Check runs: results become a series, and a failing check starts one investigation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services import series as rules
from lamplighter.domain.services.alarm import PASSES_TO_CLOSE, Alarm, AlarmPlan, plan_alarms
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.series import DETAIL_CHARS, CheckRun, CheckSeries
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan, Trigger
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.services import series
from lamplighter.repository.services.series import SeriesKey
from lamplighter.repository.sessions import requests
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.silence import silences

AT_ONCE: Final = 200
"""Results in one transaction: about 10 ms, so that other writers get their turn."""


PATIENCE: Final = timedelta(seconds=10)
"""How long a failing service waits for new results of what it depends on."""


async def record(
    here: Context, runs: Sequence[CheckRun], services: Services, *, again: bool = False
) -> set[str]:
    """Store at most `AT_ONCE` results; failing services get an investigation in the same write.

    `again` says that these may be stored already: the answer to their write was lost.
    Returns the services to check now: others that depend on them fail, and wait for that.
    """
    some = [replace(run, detail=shorten(here.redact(run.detail), DETAIL_CHARS)) for run in runs]
    async with writing(here.db):
        await _store(here.db, some, again=again)
        return await _raise_alarms(here.db, services, now=here.now())


async def _store(db: Database, runs: Sequence[CheckRun], *, again: bool) -> None:
    keys = [(run.service, run.check) for run in runs]
    held = await series.find(db, list(dict.fromkeys(keys)))
    points: dict[tuple[int, datetime], CheckRun] = {}
    changed: dict[SeriesKey, CheckSeries] = {}
    before = (
        await series.stored(
            db, [(held[key].id, run.at) for key, run in zip(keys, runs, strict=True) if key in held]
        )
        if again
        else set()
    )
    for key, run in zip(keys, runs, strict=True):
        if key in held and (held[key].id, run.at) in before:
            continue
        if key not in held:
            held[key] = await series.create(db, run)
        points[held[key].id, run.at] = run
        held[key] = changed[key] = rules.advance(held[key], run)
    await series.insert_points(db, [(number, run) for (number, _), run in points.items()])
    await series.update(db, list(changed.values()))


async def _raise_alarms(db: Database, services: Services, *, now: datetime) -> set[str]:
    found = await series.failing(db)
    silent = await silences(db, services, at=now)
    failing = {
        name: each for name, each in _declared(found, services).items() if name not in silent
    }
    alarms = await series.alarms(db)
    live = {name for name, each in alarms.items() if each.closed_at is None}
    if not failing and not live:
        return set()
    needs = {
        name: _needs(services, name)
        for name in failing.keys() - live
        if now - _failing_from(name, found) < PATIENCE
    }
    concerned = live.union(*needs.values())
    checked = await series.of_services(db, sorted(concerned)) if concerned else []
    awaited = {
        name: {
            need
            for need in behind
            if not _was_checked(services, need, checked, _failing_from(name, found))
        }
        for name, behind in needs.items()
    }
    ready = {name: each for name, each in failing.items() if not awaited.get(name)}
    passing = {name for name in live if _is_passing(name, checked, services)}
    plan = plan_alarms(services, ready.keys(), passing, alarms, now=now)
    await _apply(db, plan, ready, alarms, now=now)
    return set().union(*awaited.values())


def _needs(services: Services, name: str) -> set[str]:
    """Return all that a service depends on, by whatever way."""
    service = services.find(name)
    return {each.name for each in services.with_needs([service] if service else [])} - {name}


def _failing_from(name: str, found: Sequence[CheckSeries]) -> datetime:
    """Return since when a failing service fails."""
    return min(each.changed_at for each in found if each.service == name and each.changed_at)


def _was_checked(
    services: Services, name: str, checked: Sequence[CheckSeries], after: datetime
) -> bool:
    """Whether every declared check of a service has a result from after a moment."""
    service = services.find(name)
    names = {each.name for each in service.checks} if service else set()
    return names <= {
        each.check
        for each in checked
        if each.service == name and each.checked_at and each.checked_at >= after
    }


def _declared(found: Sequence[CheckSeries], services: Services) -> dict[str, list[str]]:
    """Return the failing checks that are still declared, by service."""
    names = {service.name: {each.name for each in service.checks} for service in services}
    failing: dict[str, list[str]] = {}
    for each in found:
        if each.check in names.get(each.service, ()):
            failing.setdefault(each.service, []).append(each.check)
    return failing


def _is_passing(name: str, checked: Sequence[CheckSeries], services: Services) -> bool:
    """Whether every declared check of a service passed twice; a removed service counts as well."""
    service = services.find(name)
    names = {each.name for each in service.checks} if service else set()
    found = [each for each in checked if each.service == name and each.check in names]
    return all(not each.failing and each.streak >= _passes_to_close(each) for each in found)


def _passes_to_close(each: CheckSeries) -> int:
    """Return how often in a row a check passes before it is well; a job may run once a day."""
    return 1 if each.kind == PushCheck.kind else PASSES_TO_CLOSE


async def _apply(
    db: Database,
    plan: AlarmPlan,
    failing: Mapping[str, Sequence[str]],
    alarms: Mapping[str, Alarm],
    *,
    now: datetime,
) -> None:
    if plan.close:
        await series.close_alarms(db, set(plan.close), now=now)
    for group in plan.investigate:
        names = ", ".join(f"{name}/{check}" for name in group for check in failing[name])
        session = SessionPlan(
            tier=1, trigger=Trigger.CHECK, services=group, prompt=f"Failing checks: {names}."
        )
        request = await requests.insert(db, session, now=now)
        for name in group:
            await series.open_alarm(db, Alarm(service=name, opened_at=now, request_id=request.id))
    for name, lead in (plan.join or {}).items():
        number = alarms[lead].request_id
        alarm = Alarm(service=name, opened_at=now, request_id=number, joined=True)
        await series.open_alarm(db, alarm)
