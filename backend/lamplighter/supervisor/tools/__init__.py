"""The tools of a session, by its tier and the settings."""

from typing import Final

from lamplighter.formats.tools import tools_for_tier
from lamplighter.supervisor.tools import implementations
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.usecases.sessions.toolbox import Tool, implementations_in

_IMPLEMENTATIONS: Final = implementations_in(implementations)


def build_tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools of a session."""
    gate, tier = context.gate, context.gate.session.tier
    offers = tools_for_tier(
        tier, reads=bool(context.readable.roots), commands=tier in gate.active.shell_tiers
    )
    return tuple(_IMPLEMENTATIONS[each.name].tool(each, context) for each in offers)
