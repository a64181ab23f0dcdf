"""The tools of clients over standard input and output: for a client that starts this process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from lamplighter.domain.access.access import Caller
from lamplighter.domain.text import one_line, shorten
from lamplighter.formats.tools.definition import TOOL_SECONDS
from lamplighter.mcp.client_context import ClientContext
from lamplighter.mcp.tools import tools_of
from lamplighter.mcp.wire import INSTRUCTIONS, Context, server
from lamplighter.usecases.sessions.toolbox import ToolSet

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

FindCaller = Callable[[], Awaitable[Caller]]
"""Returns the caller, looked up for each call; raises a LamplighterError without access."""

LAST_SECONDS: Final = TOOL_SECONDS + 5
REASON_CHARS: Final = 300


async def serve(here: ClientContext, who: FindCaller, *, project: str, values: bool = True) -> None:
    """Serve until standard input ends; standard output contains only answers.

    Without `values` answers are text alone. Requests before the end are answered.
    """

    async def tools(_: Context) -> ToolSet:
        return tools_of(here, await here.speaker(await who(), project=project))

    answering = server(tools, values=lambda _: values, instructions=INSTRUCTIONS)
    asked, asks = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, answered = anyio.create_memory_object_stream[SessionMessage](0)
    waiting = _OpenQuestions()
    async with stdio_server() as (read, write), asyncio.TaskGroup() as group:
        asking = group.create_task(_forward(read, asked, write, waiting))
        group.create_task(_answer(answered, write, waiting))
        async with answers:
            await answering.run(asks, answers, answering.create_initialization_options())
        asking.cancel()


class _OpenQuestions:
    """How many questions wait for their answer."""

    def __init__(self) -> None:
        self.count = 0
        self.none = asyncio.Event()
        self.none.set()

    def add(self, number: int) -> None:
        self.count = max(0, self.count + number)
        self.none.set() if self.count == 0 else self.none.clear()


async def _forward(
    read: "ReadStream[SessionMessage | Exception]",
    requests: "WriteStream[SessionMessage | Exception]",
    write: "WriteStream[SessionMessage]",
    waiting: _OpenQuestions,
) -> None:
    """Forward the requests, and their end only after all are answered: it cancels open requests.

    The SDK would drop a line that is not a message; its sender would wait for an answer.
    """
    async with requests:
        async for message in read:
            if isinstance(message, Exception):
                await write.send(_rejection(message))
                continue
            if isinstance(message.message, JSONRPCRequest):
                waiting.add(1)
            await requests.send(message)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await waiting.none.wait()


def _rejection(error: Exception) -> SessionMessage:
    reason = f"The line is not a JSON-RPC message: {shorten(one_line(str(error)), REASON_CHARS)}"
    failure = ErrorData(code=INVALID_REQUEST, message=reason)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=failure))


async def _answer(
    answered: "ReadStream[SessionMessage]",
    write: "WriteStream[SessionMessage]",
    waiting: _OpenQuestions,
) -> None:
    async with write:
        async for message in answered:
            await write.send(message)
            if isinstance(message.message, JSONRPCResponse | JSONRPCError):
                waiting.add(-1)
