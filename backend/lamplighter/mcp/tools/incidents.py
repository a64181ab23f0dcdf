"""The tool that lists incidents, or shows one."""

from typing import Any, Final

from lamplighter.domain.sessions.markers import escape_markers
from lamplighter.domain.text import one_line, shorten
from lamplighter.formats.incidents import incident as as_incident
from lamplighter.formats.tools.table import ListIncidents
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.repository import reading
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.usecases.services.incidents import view as incident_view
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

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


def _describe(one: dict[str, Any]) -> str:
    lines = [_line(_brief(one))]
    for item in one["timeline"][-MAX_ITEMS:]:
        where = f" {item['service']}" if item["service"] else ""
        lines.append(f"{item['at'][:19]}Z {item['kind']}{where}: {_quoted(item['text'])}")
    lines += [f"Learned: {_quoted(each['text'])}" for each in one["memories_learned"]]
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
