"""The tools of clients over standard input and output: for a client that starts us itself."""

from collections.abc import Awaitable, Callable

from mcp.server.stdio import stdio_server

from lamplighter.domain.access import Caller
from lamplighter.mcp.box import Box
from lamplighter.mcp.desk import Desk
from lamplighter.mcp.told import INSTRUCTIONS
from lamplighter.mcp.tools import tools_of
from lamplighter.mcp.wire import Context, server

Who = Callable[[], Awaitable[Caller]]
"""Returns who speaks, asked anew with each use; raises a LamplighterError when nobody may."""


async def serve(desk: Desk, who: Who, *, project: str, values: bool = True) -> None:
    """Answer until standard input ends; standard output holds nothing but answers.

    Without `values` they are words alone.
    """

    async def box(_: Context) -> Box:
        return tools_of(desk, await desk.speaker(await who(), project=project))

    answering = server(box, values=lambda _: values, instructions=INSTRUCTIONS)
    async with stdio_server() as (read, write):
        await answering.run(read, write, answering.create_initialization_options())
