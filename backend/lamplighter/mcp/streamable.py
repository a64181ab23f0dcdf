"""Streamable HTTP: one JSON response per request, without state between requests."""

import asyncio
from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from lamplighter.domain.errors import Unavailable
from lamplighter.mcp.client_context import ClientContext
from lamplighter.mcp.tools import tools_of
from lamplighter.mcp.wire import INSTRUCTIONS, Context, server
from lamplighter.usecases.sessions.toolbox import ToolSet

QUESTION_BYTES: Final = 768 * 1024
"""Larger than the longest memory in any script, smaller than the guard's limit."""

PROJECT: Final = "project"
ANSWERS: Final = "answers"
TEXT_MODE: Final = "words"


class Streamable:
    """Answers the requests of clients, each by its own token."""

    def __init__(self, here: ClientContext) -> None:
        self._context = here
        self._sessions = StreamableHTTPSessionManager(
            app=server(self._tools, values=_values, instructions=INSTRUCTIONS),
            json_response=True,
            stateless=True,
            max_request_body_size=QUESTION_BYTES,
        )
        self._ready, self._over = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Be ready to answer."""
        self._task = asyncio.create_task(self._run())
        await self._ready.wait()

    async def end(self) -> None:
        """Answer no more."""
        self._over.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the caller, or why it is unknown, is in the scope already."""
        if scope["method"] != "POST":  # no stream to open: each answer is complete
            words = "Method not allowed. Use POST."
            await PlainTextResponse(words, 405, headers={"Allow": "POST"})(scope, receive, send)
        else:
            await self._sessions.handle_request(scope, receive, send)

    async def _run(self) -> None:
        # must be entered and exited in the same task
        async with self._sessions.run():
            self._ready.set()
            await self._over.wait()

    async def _tools(self, context: Context) -> ToolSet:
        assert context.request is not None
        state = context.request.scope["state"]
        if "outage" in state:  # the guard could not identify the caller
            raise Unavailable(state["outage"])
        project = context.request.query_params.get(PROJECT, "")
        return tools_of(
            self._context, await self._context.speaker(state["caller"], project=project)
        )


def _values(context: Context) -> bool:
    assert context.request is not None
    return bool(context.request.query_params.get(ANSWERS) != TEXT_MODE)
