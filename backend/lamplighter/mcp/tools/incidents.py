"""The tools that list incidents or show one, and that show a service."""

from collections.abc import Iterator
from typing import Any, Final

from lamplighter.domain.text import escape_markers, one_line, shorten
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.formats.tools.table import ListIncidents, ReadService
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import NOTES
from lamplighter.repository import reading
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.usecases.services.incidents import view as incident_view
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements
from lamplighter.usecases.system import service_detail
from lamplighter.usecases.system.overview import ServiceCondition
from lamplighter.usecases.system.service_detail import ServiceDetail

MAX_LISTED: Final = 20
MAX_ITEMS: Final = 60
LINE_CHARS: Final = 300


@implements(ListIncidents)
async def list_incidents(place: SpeakerContext, arguments: ListIncidents) -> ToolOutput:
    """List incidents, or show the timeline of one; output of services is quoted as text."""
    here = place.context
    if arguments.id is not None:
        async with reading(here.db):
            one = await incident_view.read(here.db, arguments.id, now=here.now())
        return ToolOutput(text=_describe(one), structured={"incidents": [_brief(one)]})
    chosen = IncidentSelection(service=arguments.service or None)
    async with reading(here.db):
        found = (await incidents.page(here.db, chosen, limit=MAX_LISTED)).items
    shown = [_brief(as_incident(each)) for each in found]
    lines = [_line(each) for each in shown] or ["No incidents."]
    return ToolOutput(text="\n".join(lines), structured={"incidents": shown})


@implements(ReadService)
async def show_service(place: SpeakerContext, arguments: ReadService) -> ToolOutput:
    """Show how a service is; output of its checks is quoted as text."""
    here, project = place.context, place.project(arguments)
    service, readable = here.declared_service(arguments.service), MemoryFilter(finds=project)
    async with reading(here.db):
        detail = await service_detail.read(
            here.db, service, here.services(), readable=readable, now=here.now()
        )
    shown = _as_json(detail, project)
    return ToolOutput(text="\n".join(_service_lines(shown)), structured={"service": shown})


def _as_json(detail: ServiceDetail, project: str) -> dict[str, Any]:
    strongest = [service_detail.memory_as_json(each) for each in detail.strongest or ()]
    return {
        **_condition(detail.condition),
        "uptime": detail.uptime,
        "latency": [
            {name: each[name] for name in ("check", "median_ms", "before_ms")}
            for each in detail.latency["checks"]
        ],
        "incidents": [_brief(as_incident(each)) for each in detail.incidents.items],
        "project": project,
        "strongest_memories": [
            {**each, "observation": _quoted(each["observation"])} for each in strongest
        ],
    }


def _condition(condition: ServiceCondition) -> dict[str, Any]:
    service = condition.service
    latest = [(each, condition.latest.get(each.name)) for each in service.checks]
    return {
        "name": service.name,
        "state": condition.state,
        "silence": _quoted(condition.silence.reason) if condition.silence else None,
        "depends_on": list(service.depends_on),
        "checks": [
            {
                "name": check.name,
                "ok": result.ok if result else None,
                "detail": _quoted(result.detail) if result else "",
            }
            for check, result in latest
        ],
        "actions": [each.name for each in service.actions],
        "cooldowns": [
            {"action": each.action, "used": each.used, "limit": each.limit.uses}
            for each in condition.used
        ],
        "memories": condition.memories,
    }


def _service_lines(service: dict[str, Any]) -> list[str]:
    silent = "" if service["silence"] is None else f"; silent: {service['silence'] or 'no reason'}"
    lines = [f"{service['name']}: {service['state']}{silent}. Memories: {service['memories']}."]
    for each in service["checks"]:
        passed = {True: "passes", False: "fails", None: "not checked yet"}[each["ok"]]
        detail = f": {each['detail']}" if each["detail"] else ""
        lines.append(f"Check {each['name']} {passed}{detail}")
    known = [f"{name} {value}%" for name, value in service["uptime"].items() if value is not None]
    lines.append(f"Uptime without maintenance: {', '.join(known) or 'no results'}.")
    lines += [line for each in service["latency"] for line in _latency_lines(each)]
    lines.append(f"Depends on: {', '.join(service['depends_on']) or 'nothing'}.")
    used = [f"{each['action']} {each['used']} of {each['limit']}" for each in service["cooldowns"]]
    actions = ", ".join(service["actions"]) or "none"
    lines.append(f"Actions: {actions}. Cooldown slots used: {', '.join(used)}.")
    lines += [_line(each) for each in service["incidents"]]
    memories = service["strongest_memories"]
    if memories:
        lines.append(f"Strongest memories of the project {service['project']}. {NOTES}")
    return lines + [
        f"{each['id']}. {each['observation']} (confidence {each['confidence']:.2f})"
        for each in memories
    ]


def _latency_lines(each: dict[str, Any]) -> Iterator[str]:
    if each["median_ms"] is not None:
        before = "" if each["before_ms"] is None else f" (the day before: {each['before_ms']} ms)"
        yield f"Median latency of {each['check']} over 24 h: {each['median_ms']} ms{before}."


def _describe(one: dict[str, Any]) -> str:
    lines = [_line(_brief(one))]
    for item in one["timeline"][-MAX_ITEMS:]:
        where = f" {item['service']}" if item["service"] else ""
        lines.append(f"{item['at'][:19]}Z {item['kind']}{where}: {_quoted(item['text'])}")
    lines += [f"Learned: {_quoted(each['text'])}" for each in one["memories_learned"]]
    changed = one["memories_changed"]
    lines += [f"{each['change'].title()}: {_quoted(each['text'])}" for each in changed]
    return "\n".join(lines)


def _line(each: dict[str, Any]) -> str:
    others = [name for name in each["services"] if name != each["service"]]
    also = f" Also affected: {', '.join(others)}." if others else ""
    how = each["outcome"] or each["state"]
    action = f" by {each['action']}" if each["action"] else ""
    since = f"since {each['started_at'][:19]}Z"
    return f"Incident {each['id']} ({how}{action}, {since}): {each['title']}.{also}"


def _brief(each: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "service", "services", "state", "outcome", "action", "started_at", "resolved_at")
    return {**{name: each[name] for name in names}, "title": _quoted(each["title"])}


def _quoted(text: str) -> str:
    return shorten(escape_markers(one_line(text)), LINE_CHARS)
