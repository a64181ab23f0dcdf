"""The tool by which a session gives commands."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.formats.session_tools import RUN_COMMAND
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.supervisor.tools.shell import run_command as run
from lamplighter.usecases.sessions.toolbox import Tool, ToolOutput, make_tool

MAX_COMMANDS: Final = 500


def run_command(context: ToolContext) -> Tool:
    """Return the tool that runs a command; it bounds its time, and the gate that of an action."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        context.count(RUN_COMMAND.name, MAX_COMMANDS)
        return await run(context.gate, context.readable, given["command"], given["reason"])

    return make_tool(RUN_COMMAND, use, seconds=None)
