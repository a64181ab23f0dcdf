"""Services and the overview: status, history, pauses and actions of each service."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import project_wall
from lamplighter.api.access.callers import actor_name, caller_of
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, next_cursor, page
from lamplighter.api.services import shapes
from lamplighter.api.sessions import halt, spending
from lamplighter.domain.errors import NotFound
from lamplighter.domain.search import period
from lamplighter.domain.services.checks.silence import Silence
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service
from lamplighter.formats import serialize
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.repository import reading
from lamplighter.repository.services import checks
from lamplighter.repository.store import changes
from lamplighter.repository.store.statements import Page
from lamplighter.repository.upkeep import statistics
from lamplighter.repository.upkeep.statistics import ConfidenceChange
from lamplighter.usecases.services import check_history
from lamplighter.usecases.services import silence as silence_cases
from lamplighter.usecases.services.check_history import SeriesSelection
from lamplighter.usecases.sessions.statistics import RunStatistics
from lamplighter.usecases.system import overview as views
from lamplighter.usecases.system import service_detail
from lamplighter.usecases.system.overview import RECENT, ServiceCondition, ServiceState
from lamplighter.usecases.system.service_detail import ServiceDetail


@operation("GET", "/services", "services:read", shapes.ServicePage)
async def index(request: Request, query: shapes.ServicesQuery) -> Response:
    """List services with their status."""
    here = api_context(request)
    services = here.services()
    chosen = services.select(group=query.group, tag=query.tag)
    some, behind = params.part_of(chosen, query.cursor, query.limit)
    async with changes.snapshot(here.db) as seq:
        found = await views.service_conditions(
            here.db, some, services, now=here.now(), strip=query.strip
        )
    items = [_service_out(here, each) for each in found]
    more = {"path": here.services_path, "problems": here.problems()}
    return page(request, items, behind, seq, **more)


@operation("GET", "/services/{name}", "services:read", shapes.ServiceDetailOut)
async def show(request: Request) -> Response:
    """Read a service: status, uptime, latency, incidents, memories and actions."""
    here = api_context(request)
    service, readable = find_service(here, request), await project_wall.readable_memories(request)
    async with changes.snapshot(here.db) as seq:
        detail = await service_detail.read(
            here.db, service, here.services(), readable=readable, now=here.now()
        )
    if not await project_wall.reads_operations(request):
        detail = replace(detail, incidents=Page([]))
    return answer({**_detail_out(here, detail), "seq": seq})


def _detail_out(here: ApiContext, detail: ServiceDetail) -> dict[str, Any]:
    return {
        **_service_out(here, detail.condition),
        "uptime": detail.uptime,
        "latency": detail.latency,
        "incidents": {
            "items": [as_incident(each) for each in detail.incidents.items],
            "next": next_cursor(detail.incidents.position),
        },
        "strongest_memories": (
            None
            if detail.strongest is None
            else [service_detail.memory_as_json(each) for each in detail.strongest]
        ),
    }


@operation(
    "GET",
    "/services/{name}/checks/results",
    "services:read",
    shapes.CheckResultPage,
    deprecated_path="/services/{name}/looks",
)
async def list_check_results(request: Request, query: common_shapes.PageQuery) -> Response:
    """List the results of a service's checks in sessions, newest first."""
    here = api_context(request)
    service, position = find_service(here, request), params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await checks.page(here.db, service.name, limit=query.limit, position=position)
    return page(
        request, [serialize.check_result(each) for each in found.items], found.position, seq
    )


@operation("GET", "/services/{name}/series", "services:read", shapes.ServiceSeriesOut)
async def read_series(request: Request, query: shapes.SeriesQuery) -> Response:
    """Read the results of a service's scheduled checks over time."""
    here = api_context(request)
    selection = SeriesSelection(
        check=query.check,
        start=period.parse_moment(query.since, "since"),
        end=period.parse_moment(query.until, "until"),
        resolution=query.resolution,
        limit=query.limit,
    )
    async with changes.snapshot(here.db) as seq:
        found = await check_history.read_series(
            here.db, find_service(here, request), selection, now=here.now()
        )
    return answer({**found, "seq": seq})


@operation("GET", "/services/{name}/uptime", "services:read", shapes.UptimeOut)
async def read_uptime(request: Request) -> Response:
    """Read the share of passed results of a service."""
    here = api_context(request)
    async with changes.snapshot(here.db) as seq:
        found = await check_history.read_uptime(
            here.db, find_service(here, request), now=here.now()
        )
    return answer({**found, "seq": seq})


@operation("GET", "/overview", "services:read", shapes.OverviewOut)
async def overview(request: Request, query: shapes.OverviewQuery) -> Response:
    """Read the overall status."""
    here = api_context(request)
    now = here.now()
    start = period.parse_moment(query.since, "since") or now - RECENT
    project = await project_wall.project_bound(request)
    async with reading(here.db):
        summary = await views.overview(
            here.db, here.services(), start=start, now=now, project=project, strip=query.strip
        )
    pulled = here.halt_control.by_file() or summary.halt
    more = {
        "spending": spending.as_json(here, summary.charges),
        "halt": halt.as_json(here, pulled) if pulled else None,
        "seq": summary.seq,
    }
    return answer({**_overview(here, summary, start=start, now=now), **more})


@operation("GET", "/learned", "memories:read", shapes.LearnedPage, across=True)
async def list_learned(request: Request, query: shapes.LearnedQuery) -> Response:
    """List memory changes by sessions and decay, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    since = period.parse_moment(query.since, "since") or here.now() - RECENT
    causes = [query.cause] if query.cause else statistics.CAUSES
    async with changes.snapshot(here.db) as seq:
        found = await statistics.page(
            here.db, causes, start=since, limit=query.limit, position=position
        )
    return page(request, [_learned_out(each) for each in found.items], found.position, seq)


def _overview(
    here: ApiContext, summary: views.SystemOverview, *, start: datetime, now: datetime
) -> dict[str, Any]:
    states = [each.state for each in summary.conditions]
    services = [_service_out(here, each) for each in summary.conditions]
    checked = [each["checked_at"] for each in services if each["checked_at"]]
    recent = serialize.format_moment(now - RECENT)
    return {
        "state": summary.state,
        "counts": {state: states.count(state) for state in ServiceState},
        "checked_at": max(checked, default=None),
        "path": here.services_path,
        "problems": here.problems(),
        "supervisor": {**serialize.leader(summary.leader, now=now), "waiting": summary.parked},
        "running": serialize.session(summary.running) if summary.running else None,
        "outcomes": [serialize.session(each) for each in summary.outcomes],
        "queued": summary.queued,
        "people": [
            {
                "id": each.id,
                "service": each.service,
                "reason": each.reason,
                "asked_at": serialize.format_moment(each.created_at),
                "session_id": each.session_id,
            }
            for each in summary.people
        ],
        "services": services,
        "learned": _learned(summary, start),
        "events": {
            "since": recent,
            "critical": summary.activity.levels[Level.CRITICAL],
            "warning": summary.activity.levels[Level.WARNING],
        },
        "sessions": {
            "since": recent,
            "total": sum(summary.activity.runs.by_tier.values()),
            "by_tier": {
                str(tier): summary.activity.runs.by_tier.get(tier, 0) for tier in (1, 2, 3)
            },
            "cost_usd": summary.activity.runs.cost_usd,
        },
        "reviews": _open_count(summary.activity.reviews),
        "pages": _open_count(summary.pages),
        "approvals": _open_count(summary.approvals),
        "incidents": [as_incident(each) for each in summary.incidents],
        "open_incidents": summary.open_incidents,
        "repaired": [as_incident(each) for each in summary.repaired],
        "run": _sessions_out(summary.run),
    }


def _open_count(counted: tuple[int, datetime | None]) -> dict[str, Any]:
    return {"open": counted[0], "oldest_at": serialize.format_moment(counted[1])}


def _sessions_out(run_statistics: RunStatistics) -> dict[str, Any]:
    return {
        "days": [
            {"day": day.isoformat(), "by_tier": {str(tier): n for tier, n in by_tier.items()}}
            for day, by_tier in run_statistics.days
        ],
        "ended": {str(tier): by_status for tier, by_status in run_statistics.ended.items()},
        "today": {"turns": run_statistics.today.turns, "cost_usd": run_statistics.today.cost_usd},
        "month": {"turns": run_statistics.month.turns, "cost_usd": run_statistics.month.cost_usd},
    }


def _learned(summary: views.SystemOverview, start: datetime) -> dict[str, Any]:
    return {
        "since": serialize.format_moment(start),
        "learned": summary.activity.causes["learned"],
        "reinforced": summary.activity.causes["reinforced"],
        "weakened": summary.activity.causes["contradicted"],
        "faded": summary.activity.causes["faded"],
        "items": [_learned_out(each) for each in summary.activity.changes],
    }


def _learned_out(each: ConfidenceChange) -> dict[str, Any]:
    return {
        "cause": each.cause,
        "at": serialize.format_moment(each.at),
        "reason": each.reason,
        "before": each.before,
        "after": each.after,
        "memory": serialize.memory(each.memory),
    }


def _service_out(here: ApiContext, each: ServiceCondition) -> dict[str, Any]:
    service = each.service
    return {
        "name": service.name,
        "description": service.description,
        "depends_on": list(service.depends_on),
        "state": each.state,
        "since": serialize.format_moment(each.changed_at),
        "checked_at": serialize.format_moment(each.checked_at),
        "detail": each.detail,
        "line": service.line,
        "memories": each.memories,
        "checks": [_check(each, check.name, check.kind, check.target) for check in service.checks],
        "actions": [
            {
                "name": action.name,
                "kind": action.kind,
                "argv": [here.redact(word) for word in action.argv],
                "approve": service.approval_of(action),
                "directory": action.directory,
                "timeout": action.timeout,
                "for": list(action.repairs),
            }
            for action in service.actions
        ],
        "cooldowns": [_cooldown_out(used) for used in each.used],
        "strip": each.strip,
        "group": service.group,
        "tags": list(service.tags),
        "notify": list(service.notify),
        "silence": _silence_out(each.silence),
    }


def _cooldown_out(used: Any) -> dict[str, Any]:
    found = serialize.cooldown_status(used)
    del found["service"], found["last_at"]
    return found


def _check(each: ServiceCondition, name: str, kind: str, target: str) -> dict[str, Any]:
    result = each.latest.get(name)
    return {
        "name": name,
        "kind": kind,
        "target": target,
        "ok": result.ok if result else None,
        "warned": result.warned if result else False,
        "status": result.status if result else None,
        "latency_ms": result.latency_ms if result else None,
        "detail": result.detail if result else "",
        "at": serialize.format_moment(result.at) if result else None,
    }


def find_service(here: ApiContext, request: Request) -> Service:
    """Return the service that an address names; raises NotFound."""
    name = request.path_params["name"]
    service = here.services().find(name)
    if service is None:
        text = f"Service {name!r} not found in {here.services_path}."
        for mistake in here.problems()[:1]:
            text += f" Line {mistake['line']} is wrong: {mistake['message']}."
        raise NotFound(text)
    return service


@operation("PUT", "/services/{name}/pause", "services:write", shapes.PauseOut)
async def pause(request: Request, body: shapes.PauseIn) -> Response:
    """Pause a service: its failures are only recorded."""
    here = api_context(request)
    new_silence = await silence_cases.pause(
        here,
        here.services(),
        request.path_params["name"],
        body.reason,
        by=actor_name(caller_of(request)),
        until=period.parse_moment(body.until, "until"),
    )
    return _pause_out(request, new_silence)


@operation("DELETE", "/services/{name}/pause", "services:write", shapes.PauseOut, problems=(409,))
async def resume(request: Request) -> Response:
    """Resume a service."""
    here, by = api_context(request), actor_name(caller_of(request))
    found = await silence_cases.resume(here, here.services(), request.path_params["name"], by=by)
    return _pause_out(request, found)


def _silence_out(silence: Silence | None) -> dict[str, Any] | None:
    if silence is None:
        return None
    return {
        "kind": silence.kind,
        "until": serialize.format_moment(silence.until),
        "reason": silence.reason,
    }


def _pause_out(request: Request, found: Silence | None) -> Response:
    service = api_context(request).services().find(request.path_params["name"])
    name = service.name if service else request.path_params["name"]
    return answer({"service": name, "silence": _silence_out(found)})
