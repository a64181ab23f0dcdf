"""The tools that list incidents or show one, and that show a service."""

from typing import Any, Final

from lamplighter.domain.text import escape_markers, one_line, shorten
from lamplighter.formats.incidents import incident as as_incident
from lamplighter.formats.tools.table import ListIncidents, ReadService
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.repository import reading
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.usecases.services import check_history
from lamplighter.usecases.services.incidents import view as incident_view
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements
from lamplighter.usecases.system import overview
from lamplighter.usecases.system.overview import ServiceCondition

MAX_LISTED: Final = 20
NEWEST: Final = 5
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
    here = place.context
    service, now = here.declared_service(arguments.service), here.now()
    chosen = IncidentSelection(service=service.name)
    async with reading(here.db):
        [found] = await overview.service_conditions(here.db, [service], now=now)
        uptime = await check_history.read_uptime(here.db, service, now=now)
        newest = (await incidents.page(here.db, chosen, limit=NEWEST)).items
    shown = _condition(found)
    shown["uptime"] = {name: uptime[name] for name in check_history.WINDOWS}
    shown["incidents"] = [_brief(as_incident(each)) for each in newest]
    return ToolOutput(text="\n".join(_service_lines(shown)), structured={"service": shown})


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
    lines.append(f"Depends on: {', '.join(service['depends_on']) or 'nothing'}.")
    used = [f"{each['action']} {each['used']} of {each['limit']}" for each in service["cooldowns"]]
    actions = ", ".join(service["actions"]) or "none"
    lines.append(f"Actions: {actions}. Cooldown slots used: {', '.join(used)}.")
    return lines + [_line(each) for each in service["incidents"]]


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
