"""The tools of clients, by their token and the settings of their agent."""

from collections.abc import Callable, Mapping
from typing import Final

from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.formats import client_tools as offers
from lamplighter.formats.session_tools import ToolDefinition
from lamplighter.mcp.client_context import ClientContext, SpeakerContext
from lamplighter.mcp.local import LocalKnowledge
from lamplighter.mcp.tools import changing, relating, saving, search, sessions, status
from lamplighter.usecases.sessions.toolbox import OfferedTools, Tool, ToolFunction, make_tool

_BUILDERS: Final[Mapping[str, Callable[[SpeakerContext], ToolFunction]]] = {
    offers.MEM_CONTEXT.name: search.mem_context,
    offers.MEM_SEARCH.name: search.mem_search,
    offers.READ_MEMORY.name: search.read_memory,
    offers.MEM_SAVE.name: saving.mem_save,
    offers.MEM_UPDATE.name: changing.mem_update,
    offers.MEM_DELETE.name: changing.mem_delete,
    offers.MEM_TIMELINE.name: relating.mem_timeline,
    offers.MEM_GRAPH.name: relating.mem_graph,
    offers.MEM_SESSION_START.name: sessions.mem_session_start,
    offers.MEM_SESSION_SUMMARY.name: sessions.mem_session_summary,
    offers.MEM_SESSION_END.name: sessions.mem_session_end,
    offers.MEM_REVIEW.name: status.mem_review,
    offers.MEM_STATS.name: status.mem_stats,
    offers.HANDOFF.name: status.handoff,
}


def tools_of(here: ClientContext, speaker: ClientIdentity) -> OfferedTools:
    """Return the tools that somebody has, and nothing that they may not use."""
    agent = speaker.agent
    away = agent is not None and speaker.elsewhere
    knowledge = here.remote(agent) if away and agent else LocalKnowledge(here, speaker)
    place = SpeakerContext(context=here, speaker=speaker, knowledge=knowledge)
    made = tuple(_build_tool(place, each) for each in offers.client_tools(speaker))
    return OfferedTools(tools=made, redact=here.redact)


def _build_tool(place: SpeakerContext, offer: ToolDefinition) -> Tool:
    return make_tool(offer, _BUILDERS[offer.name](place))
