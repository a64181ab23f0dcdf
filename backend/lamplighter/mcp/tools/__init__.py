"""The tools of clients, by their token and the settings of their agent."""

from typing import Final

from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.formats.tools import client_tools
from lamplighter.mcp.client_context import ClientContext, SpeakerContext
from lamplighter.mcp.local import LocalKnowledge
from lamplighter.mcp.tools import incidents, relating, search, status, writing
from lamplighter.usecases.sessions.toolbox import OfferedTools, implementations_in

_IMPLEMENTATIONS: Final = implementations_in(incidents, relating, search, status, writing)


def tools_of(here: ClientContext, identity: ClientIdentity) -> OfferedTools:
    """Return the tools that a caller may use."""
    agent = identity.agent
    away = agent is not None and identity.elsewhere
    knowledge = here.remote(agent) if away and agent else LocalKnowledge(here, identity)
    place = SpeakerContext(context=here, speaker=identity, knowledge=knowledge)
    made = tuple(_IMPLEMENTATIONS[each.name].tool(each, place) for each in client_tools(identity))
    return OfferedTools(tools=made, redact=here.redact)
