"""Lasting warnings: incidents of low severity, investigated once, then left to a person."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.services.check import DiskCheck
from lamplighter.domain.services.checks import lasting
from lamplighter.domain.services.incident import PASSES_TO_RECOVER, Incident
from lamplighter.domain.services.series import CheckSeries, PointState, SeriesPoint
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import incidents, series
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import closing
from lamplighter.usecases.services.incidents import steps as incident_steps
from lamplighter.usecases.services.incidents.steps import FailureContext
from lamplighter.usecases.services.silence import silences

_FREE: Final = re.compile(r"([\d.]+)%(?!.*inodes)")


@dataclass(frozen=True, slots=True)
class LastingWarning:
    """A lasting warning of a check; `trend` means that a disk is filling up."""

    series: CheckSeries
    started_at: datetime
    trend: bool = False


async def detect(here: Context, services: Services) -> None:
    """Open incidents for lasting warnings, and end those of warnings that have ended."""
    now = here.now()
    async with reading(here.db):
        silent = await silences(here.db, services, at=now)
        names = {
            (service.name, check.name)
            for service in services
            if service.name not in silent
            for check in service.checks
        }
        declared_series = [
            each for each in await series.every(here.db) if (each.service, each.check) in names
        ]
        live = [each for each in await incidents.live(here.db) if each.is_warning]
        warnings = await _lasting(here.db, declared_series, now=now)
    if not live and not warnings:
        return
    async with writing(here.db):
        await _open(here.db, services, declared_series, warnings, now=now)
        for incident in await incidents.live(here.db):
            if incident.is_warning:
                await _recover(here.db, incident, declared_series, warnings, silent, now=now)


async def _lasting(
    db: Database, found: Sequence[CheckSeries], *, now: datetime
) -> list[LastingWarning]:
    warnings: list[LastingWarning] = []
    for each in found:
        disk = each.kind == DiskCheck.kind
        if each.state is not PointState.WARNED and (each.failing or not disk):
            continue
        limit = lasting.TREND_POINTS if disk else lasting.USUALLY_IN_A_ROW
        points = await series.points(db, each.id, start=now - lasting.AGAIN, end=now, limit=limit)
        if lasting.lasts(each.kind, points):
            warnings.append(LastingWarning(each, points[-1].at))
        elif disk and (full := lasting.full_in(_free(points))) and full < lasting.FULL_WITHIN:
            hours = max(1, round(full.total_seconds() / 3600))
            text = f"{each.detail}; full in about {hours} h by its trend"
            warnings.append(LastingWarning(replace(each, detail=text), now, trend=True))
    return warnings


def _free(points: Sequence[SeriesPoint]) -> list[tuple[datetime, float]]:
    found = [(each.at, _FREE.match(each.detail)) for each in points]
    return [(at, float(match[1])) for at, match in found if match]


async def _open(
    db: Database,
    services: Services,
    declared_series: Sequence[CheckSeries],
    warnings: Sequence[LastingWarning],
    *,
    now: datetime,
) -> None:
    last = await incidents.last_detected(db, {each.series.service for each in warnings})
    due: dict[str, list[LastingWarning]] = {}
    for each in warnings:
        at, limit = last.get(each.series.service), lasting.TREND_POINTS
        points = (
            await series.points(db, each.series.id, start=at, end=now, limit=limit) if at else []
        )
        if lasting.is_new(at, points, trend=each.trend, now=now):
            due.setdefault(each.series.service, []).append(each)
    live = {each.id: each for each in await incidents.live(db)}
    members = await incidents.members(db, list(live))
    opened, join = lasting.plan_warnings(
        services,
        {name: min(each.started_at for each in some) for name, some in due.items()},
        {each.service for each in declared_series if each.failing},
        {number: (live[number], members[number]) for number in live},
    )
    quoted = {name: [each.series for each in some] for name, some in due.items()}
    here = FailureContext(db=db, failing=quoted, services=services, now=now)
    for group in opened:
        await incident_steps.open_warning(here, group)
    for name, number in join.items():
        if live[number].is_warning:
            await incident_steps.join(here, live[number], [name])


async def _recover(
    db: Database,
    incident: Incident,
    declared_series: Sequence[CheckSeries],
    warnings: Sequence[LastingWarning],
    silent: Collection[str],
    *,
    now: datetime,
) -> None:
    """Mark members that pass without a warning as recovered, except silenced ones."""
    well = {
        each.service
        for each in await incidents.members_of(db, incident.id)
        if each.recovered_at is None and each.service not in silent
    } - {each.series.service for each in warnings}
    for each in declared_series:
        if each.service in well:
            points = await series.points(
                db, each.id, start=now - lasting.AGAIN, end=now, limit=PASSES_TO_RECOVER
            )
            if any(point.state is not PointState.PASSED for point in points):
                well.remove(each.service)
    await closing.recover(db, incident, well, now=now)
