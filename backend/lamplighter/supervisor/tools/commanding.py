"""The tool by which a session runs commands."""

from typing import Final

from lamplighter.formats.tools.table import RunCommand
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.supervisor.tools.shell import run_command as run
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

MAX_COMMANDS: Final = 500


@implements(RunCommand)
async def run_command(context: ToolContext, arguments: RunCommand) -> ToolOutput:
    """Run a command, which limits its own time; the gate limits that of an action."""
    context.count(RunCommand.tool.name, MAX_COMMANDS)
    return await run(context.gate, context.readable, arguments.command, arguments.reason)
