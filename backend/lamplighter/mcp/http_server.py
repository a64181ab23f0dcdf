"""The MCP server on loopback HTTP: one JSON response per request.

Every request needs the token of a session. Host and Origin are checked as well: no page in a
browser reaches the server, even by DNS rebinding.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from lamplighter.mcp.session_server import SessionClient
from lamplighter.mcp.wire import Context, server

PATH: Final = "/mcp"
QUESTION_BYTES: Final = 256 * 1024
AT_ONCE: Final = 64
SHUTDOWN_SECONDS: Final = 1

FindSession = Callable[[bytes], SessionClient | None]


class SessionHttpServer:
    """The one server of a supervisor."""

    def __init__(self, find: FindSession) -> None:
        self._find = find
        self._socket = socket.create_server(("127.0.0.1", 0))
        place = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"http://{place}{PATH}"
        # no allowed origin: no web page may call this server
        security = TransportSecuritySettings(allowed_hosts=[place], allowed_origins=[])
        self._sessions = StreamableHTTPSessionManager(
            app=server(_session_of),
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=QUESTION_BYTES,
        )
        config = uvicorn.Config(
            self._answer,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            interface="asgi3",
            lifespan="off",
            ws="none",
            limit_concurrency=AT_ONCE,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether it answers no more."""
        return self._task is not None and self._task.done()

    def start(self) -> None:
        """Begin to answer; requests before that wait a moment."""
        self._task = asyncio.create_task(self._serve())

    async def end(self) -> None:
        """Answer no more."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._socket.close()

    async def _serve(self) -> None:
        async with self._sessions.run():
            await self._server.serve(sockets=[self._socket])

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].rstrip("/") != PATH:
            await _refusal(404, "Not found.")(scope, receive, send)
            return
        guest = self._find(_bearer_token(Headers(scope=scope)))
        if guest is None:
            await _refusal(401, "This endpoint needs the token of a running session.")(
                scope, receive, send
            )
        elif scope["method"] != "POST":  # no stream to open: each answer is complete
            await _refusal(405, "Method not allowed. Use POST.")(scope, receive, send)
        else:
            scope["state"] = {"guest": guest}
            await self._sessions.handle_request(scope, receive, send)


class _Quiet(uvicorn.Server):
    """A server inside another process: the signals are not its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bearer_token(headers: Headers) -> bytes:
    scheme, _, token = ", ".join(headers.getlist("authorization")).partition(" ")
    return token.strip().encode() if scheme.lower() == "bearer" else b""


def _refusal(status: int, words: str) -> PlainTextResponse:
    more = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}}.get(status)
    return PlainTextResponse(words, status, headers=more)


async def _session_of(context: Context) -> SessionClient:
    assert context.request is not None
    guest: SessionClient = context.request.scope["state"]["guest"]
    return guest
