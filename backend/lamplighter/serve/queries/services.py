"""Declared services, check results and incidents for the command line, with or without a server."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.domain.errors import NotFound
from lamplighter.domain.services.checks.push import PushSignal
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.series import SeriesResolution
from lamplighter.domain.services.service import Service
from lamplighter.domain.text import format_time
from lamplighter.formats import serialize
from lamplighter.formats.serialize import Writer, format_moment
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.repository import reading
from lamplighter.repository.services import incidents as rows
from lamplighter.repository.services import pushes
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.usecases.services import check_history
from lamplighter.usecases.services.check_history import SeriesSelection

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext
    from lamplighter.usecases.system.overview import ServiceCondition


async def list_signals(
    here: "QueryContext", *, service: str, check: str, limit: int
) -> dict[str, Any]:
    """Return the newest signals of a push check; raises NotFound."""
    from lamplighter.usecases.services import push_checks  # slow import: records results

    _declared(here, service)  # raises the error of an invalid file
    services = here.services().last_good()
    found, declared = push_checks.find_push_check(services, service, check)
    page = await pushes.page(here.db, found.name, declared.name, limit=limit)
    return {"items": [Writer[PushSignal]()(each) for each in page.items]}


async def list_services(
    here: "QueryContext", *, group: str | None, tag: str | None
) -> dict[str, Any]:
    """Return the services with their states, of a group and with a tag."""
    from lamplighter.usecases.system import overview  # slow import: reads everything

    file = here.services()
    services = file.last_good()
    chosen = services.select(group=group, tag=tag)
    async with reading(here.db):
        conditions = await overview.service_conditions(here.db, chosen, services, now=clock.now())
    return {
        "items": [_state(each) for each in conditions],
        "problems": file.problems(),
    }


async def read_service(here: "QueryContext", *, service: str) -> dict[str, Any]:
    """Return a service as a whole; raises NotFound."""
    from lamplighter.repository.memory.memories import MemoryFilter
    from lamplighter.usecases.system import service_detail  # slow import: reads everything

    declared = _declared(here, service)
    async with reading(here.db):
        detail = await service_detail.read(
            here.db,
            declared,
            here.services().last_good(),
            readable=MemoryFilter(),
            now=clock.now(),
        )
    condition = detail.condition
    return {
        **_state(condition),
        "line": declared.line,
        "depends_on": list(declared.depends_on),
        "checks": [
            {
                "name": each.name,
                "ok": result.ok if result else None,
                "warned": bool(result and result.warned),
                "latency_ms": result.latency_ms if result else None,
                "detail": result.detail if result else "",
            }
            for each in declared.checks
            for result in [condition.latest.get(each.name)]
        ],
        "uptime": detail.uptime,
        "latency": detail.latency,
        "actions": [{"name": each.name, "kind": each.kind} for each in declared.actions],
        "cooldowns": [serialize.cooldown_status(each) for each in condition.used],
        "incidents": [_as_json(each, now=clock.now()) for each in detail.incidents.items],
        "memories": condition.memories,
        "strongest_memories": [
            service_detail.memory_as_json(each) for each in detail.strongest or ()
        ],
    }


def _declared(here: "QueryContext", service: str) -> Service:
    file = here.services()
    declared = file.last_good().find(service)
    if declared is None:
        file.load()  # the reason may be an error of the file
        raise NotFound(f"Service {service!r} not found in {here.settings.services}.")
    return declared


def _state(each: "ServiceCondition") -> dict[str, Any]:
    return {
        "name": each.service.name,
        "state": each.state,
        "since": format_moment(each.changed_at),
        "detail": each.detail,
        "group": each.service.group,
        "tags": list(each.service.tags),
        "silence": _silence(each),
    }


def _silence(each: "ServiceCondition") -> dict[str, Any] | None:
    if each.silence is None:
        return None
    until = format_moment(each.silence.until)
    return {"kind": each.silence.kind, "until": until, "reason": each.silence.reason}


async def read_series(
    here: "QueryContext",
    *,
    service: str,
    check: str | None,
    seconds: float,
    resolution: str | None,
    limit: int,
) -> dict[str, Any]:
    """Return the series of a service's checks for the last `seconds`; raises NotFound."""
    declared, now = _declared(here, service), clock.now()
    selection = SeriesSelection(
        check=check,
        start=now - timedelta(seconds=seconds),
        resolution=SeriesResolution(resolution) if resolution else None,
        limit=limit,
    )
    async with reading(here.db):
        return await check_history.read_series(here.db, declared, selection, now=now)


async def list_incidents(
    here: "QueryContext", *, whole: bool, service: str | None, limit: int
) -> dict[str, Any]:
    """Return the open incidents, newest first; with `whole` resolved ones too."""
    chosen = IncidentSelection(live=None if whole else True, service=service)
    now = clock.now()
    async with reading(here.db):
        found = await rows.page(here.db, chosen, limit=limit)
    return {"items": [_as_json(each, now=now) for each in found.items]}


async def get_incident(here: "QueryContext", *, number: int) -> dict[str, Any]:
    """Return an incident with its timeline; raises NotFound."""
    from lamplighter.usecases.services.incidents import view as incident_view  # slow import

    async with reading(here.db):
        return await incident_view.read(here.db, number, now=clock.now())


async def replay_incident(
    here: "QueryContext", *, number: int, without: list[int], today: bool
) -> dict[str, Any]:
    """Return the first step at an incident with other memories; raises NotFound."""
    from lamplighter.usecases.services.incidents.replay import (  # slow import: decides again
        ReplayOptions,
        replay,
    )

    options = ReplayOptions(without=without, today=today)
    async with reading(here.db):
        return await replay(here.db, here.services().last_good(), number, options)


async def status(here: "QueryContext") -> dict[str, Any]:
    """Return the status: the services, open incidents, and requests to a person."""
    from lamplighter.usecases.system import overview  # slow import: reads everything

    now = clock.now()
    async with reading(here.db):
        summary = await overview.overview(
            here.db, here.services().last_good(), start=now - overview.RECENT, now=now
        )
        live = await rows.live(here.db)
    return {
        "state": summary.state,
        "services": [
            {
                "service": each.service.name,
                "state": each.state,
                "checked": format_time(each.checked_at, now) if each.checked_at else None,
                "silence": _silence(each),
            }
            for each in summary.conditions
        ],
        "incidents": [_as_json(each, now=now) for each in live],
        "people": [{"service": each.service, "reason": each.reason} for each in summary.people],
        "approvals": summary.approvals[0],
        "supervisor": serialize.leader(summary.leader, now=now)["state"],
        "problems": here.services().problems(),
    }


def _as_json(each: Incident, *, now: datetime) -> dict[str, Any]:
    return {**as_incident(each), "started": format_time(each.started_at, now)}
