"""The tools of a session, by its tier and the settings."""

from collections.abc import Callable, Mapping
from typing import Final

from lamplighter.formats.session_tools import (
    HANDOFF,
    LOOK,
    MEM_SAVE,
    MEM_SEARCH,
    READ_FILE,
    READ_MEMORY,
    RUN_ACTION,
    RUN_COMMAND,
    tools_for_tier,
)
from lamplighter.supervisor.tools import acting, commanding, reading, remembering, service_checks
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.usecases.sessions.toolbox import Tool

_BUILDERS: Final[Mapping[str, Callable[[ToolContext], Tool]]] = {
    LOOK.name: service_checks.check_service,
    RUN_ACTION.name: acting.run_action,
    READ_FILE.name: reading.read_file,
    RUN_COMMAND.name: commanding.run_command,
    MEM_SEARCH.name: remembering.mem_search,
    READ_MEMORY.name: remembering.read_memory,
    MEM_SAVE.name: remembering.mem_save,
    HANDOFF.name: acting.handoff,
}


def build_tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools that a session has."""
    gate, tier = context.gate, context.gate.session.tier
    offers = tools_for_tier(
        tier, reads=bool(context.readable.roots), commands=tier in gate.active.shell_tiers
    )
    return tuple(_BUILDERS[each.name](context) for each in offers)
