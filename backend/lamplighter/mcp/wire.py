"""Tools over MCP, whatever they are sent by: how they are listed, and how one is answered.

Importing this loads the SDK, which takes a second and some memory: only who answers does.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from lamplighter import __version__
from lamplighter.domain.client_offers import MEM_DELETE, WRITES
from lamplighter.domain.errors import LamplighterError
from lamplighter.mcp.box import Box, Offered, Said

NAME: Final = "lamplighter"
FOUND: Final = "lamplighter/found"

Context = ServerRequestContext[Any, Any]
Find = Callable[[Context], Awaitable[Box]]
"""Returns the tools of whoever asks; raises a LamplighterError saying why there are none."""


def server(
    find: Find, *, values: bool = False, instructions: str | None = None
) -> Server[dict[str, Any]]:
    """Return what answers by the tools of whoever asks.

    With `values` a program finds what was found as structured content too; without, only
    beside the answer: an engine shows its model one of words and values.
    """

    async def listed(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        try:
            box = await find(context)
        except LamplighterError as error:
            raise MCPError(types.INVALID_REQUEST, str(error)) from error
        return types.ListToolsResult(tools=[_offer(each, hints=values) for each in box.tools])

    async def called(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            box = await find(context)
        except LamplighterError as error:
            return _result(str(error), is_error=True)
        return _answer(await box.use(params.name, params.arguments or {}), values=values)

    return Server(
        NAME,
        version=__version__,
        instructions=instructions,
        on_list_tools=listed,
        on_call_tool=called,
    )


def _offer(offered: Offered, *, hints: bool) -> types.Tool:
    writes = offered.name in WRITES
    annotations = types.ToolAnnotations(
        read_only_hint=not writes,
        destructive_hint=offered.name == MEM_DELETE.name,
        open_world_hint=False,
    )
    return types.Tool(
        name=offered.name,
        description=offered.about,
        input_schema=dict(offered.schema),
        annotations=annotations if hints else None,
    )


def _answer(said: Said, *, values: bool) -> types.CallToolResult:
    found = None if said.found is None else dict(said.found)
    return _result(said.text, is_error=said.is_error, found=found, values=values)


def _result(
    text: str, *, is_error: bool, found: dict[str, Any] | None = None, values: bool = False
) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        is_error=is_error,
        structured_content=found if values and not is_error else None,
        _meta=None if values or found is None else {FOUND: found},
    )
