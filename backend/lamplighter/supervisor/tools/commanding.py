"""The tool by which a session gives commands."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.formats.session_tools import RUN_COMMAND
from lamplighter.supervisor.tools.context import Bench
from lamplighter.supervisor.tools.shell import run_command as run
from lamplighter.usecases.sessions.toolbox import Answer, Tool, tool

COMMANDS: Final = 500


def run_command(bench: Bench) -> Tool:
    """Return the tool that runs a command; it bounds its time, and the gate that of an action."""

    async def use(given: Mapping[str, Any]) -> Answer:
        bench.count(RUN_COMMAND.name, COMMANDS)
        return await run(bench.gate, bench.shell, given["command"], given["reason"])

    return tool(RUN_COMMAND, use, seconds=None)
