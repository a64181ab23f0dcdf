"""The guard in front of every route: access, allowed origins and protective headers.

Origin stops requests that a page of another site makes a browser send; Host stops a site that lets
its own name point here (DNS rebinding). Then the caller must be known and hold the scope of the
route table: a route without an entry cannot be requested.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamplighter.api.access import login_page
from lamplighter.api.access.callers import Callers, check_scope
from lamplighter.api.agentops import errors as agentops_errors
from lamplighter.api.agentops import routes as agentops
from lamplighter.api.context import ApiContext
from lamplighter.api.op import Operation
from lamplighter.api.responses import problem
from lamplighter.api.routes import (
    ANY,
    API,
    DOCS,
    DOCUMENT,
    LOGIN,
    MCP,
    MCP_SCOPE,
    PAGE_METHODS,
    ops_at,
)
from lamplighter.api.services import webhooks
from lamplighter.domain.access.access import Caller
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.outages import describe_outage

IDLE_SECONDS: Final = 10.0
BODY_SECONDS: Final = 120.0
DRAIN_SECONDS: Final = 2.0
DRAIN_BYTES: Final = 4_000_000
BODY_TIMEOUT: Final = "The body did not arrive in time."


class RequestBody:
    """Passes a body on; cuts off the rest of a body that was answered before its end.

    Starlette's own limit of the size has another error message.
    """

    def __init__(self, headers: Headers, receive: Receive, most: int) -> None:
        self._receive, self._most = receive, most
        self._size = 0
        self._until: float | None = None
        self._arriving = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"

    async def receive(self) -> Message:
        """Receive the next part; raises HTTPException when it is too large or too late."""
        if not self._arriving:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._until = self._until or now + BODY_SECONDS
        try:
            async with asyncio.timeout_at(min(now + IDLE_SECONDS, self._until)):
                message = await self._part()
        except TimeoutError:
            raise HTTPException(408, BODY_TIMEOUT) from None
        if self._size > self._most:
            raise HTTPException(413, f"The body is larger than {self._most:,} bytes.")
        return message

    def sending(self, send: Send) -> Send:
        """Return a `send` that closes the connection after the answer to a body that still arrives.

        The rest of the body is read for a moment, to let the client read the answer.
        """
        cutting = False

        async def sent(message: Message) -> None:
            nonlocal cutting
            if message["type"] == "http.response.start" and self._arriving:
                cutting = True
                MutableHeaders(scope=message)["Connection"] = "close"
            if cutting and message["type"] == "http.response.body":
                if message.get("more_body", False):
                    await send(message)
                    return
                await send({**message, "more_body": True})
                await self._drain()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        return sent

    async def _drain(self) -> None:
        most = self._size + DRAIN_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._arriving and self._size < most:
                    await self._part()

    async def _part(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        self._arriving = bool(message.get("more_body", False))
        return message


logger = logging.getLogger(__name__)

CSP: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "style-src 'self'",
        "font-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types lamplighter",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES: Final = 1_000_000
MAX_IMPORT_BYTES: Final = 16_000_000
MAX_QUERY_BYTES: Final = 8_192
CROSS_SITES: Final = ("cross-site", "same-site")
APP_ROUTES: Final = ("page", "assets")
DESCRIPTION_PATHS: Final = (DOCUMENT, DOCS, f"{agentops.PREFIX}/openapi.json")
NEEDS_EVERY_PROJECT: Final = (
    "This endpoint covers all projects, and the token is limited to one. Use the MCP "
    "tools for its project."
)
NEEDS_PERSON: Final = "Only a person who is logged in can use this endpoint. Tokens cannot."
SAFE: Final = ("GET", "HEAD", "OPTIONS")
HALT: Final = "/api/v1/halt"


HTTPS_HEADERS: Final = {**HEADERS, "Strict-Transport-Security": "max-age=31536000"}
"""Sent over HTTPS: the browser then refuses this name over HTTP for a year."""

AccessCheck = Callable[[Scope, Headers], Awaitable[Response | None]]
Operations = Mapping[str, Operation]


class Guard:
    """Rejects requests with an unknown Host or from another site.

    `stopped` builds the response to a refused request; `theirs` tells whether an address belongs to
    the AgentOps contract, whose clients expect another form of errors.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Sequence[str] = (),
        *,
        stopped: AccessCheck | None = None,
        theirs: Callable[[str], bool] = agentops.is_contract_path,
    ) -> None:
        self._app, self._theirs = app, theirs
        self._stopped = stopped or _check_access
        names = "|".join(map(re.escape, (*LOOPBACK, *hosts)))
        self._known = re.compile(rf"(?:{names})(?::\d{{1,5}})?")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request, and add headers to every answer."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # there are no WebSockets
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                found = HTTPS_HEADERS if scope["scheme"] == "https" else HEADERS
                for name, value in found.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/") or self._theirs(scope["path"]):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        answer = await self._answer(scope, headers)
        theirs = self._theirs(scope["path"])
        larger = theirs and scope["path"].endswith("/import")
        body = RequestBody(headers, receive, MAX_IMPORT_BYTES if larger else MAX_BODY_BYTES)
        send = body.sending(send)
        if answer:
            problem = agentops_errors.translate_problem(answer) if theirs else answer
            await problem(scope, body.receive, marked)
            return
        await self._pass_on(scope, body.receive, marked)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            logger.debug("A client closed the connection during its request: %s", scope["path"])

    async def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a refused request; None if it is admitted."""
        if self._theirs(scope["path"]):
            agentops.collapse_slashes(scope)
        refusal = self._refusal(scope, headers)
        if refusal:
            return problem(403, refusal)
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return problem(414, f"The query string is longer than {MAX_QUERY_BYTES:,} bytes.")
        return await self._stopped(scope, headers)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        host = ", ".join(headers.getlist("host"))  # several Host headers are ambiguous
        if not (self._known.fullmatch(host.lower()) or _local_port(scope) == host):
            usual = " or ".join(LOOPBACK[:2])
            return f"Host header {host!r} is not allowed. Use {usual}, or set LAMPLIGHTER_HOSTS."
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != host.lower():
            return "Requests from other sites are blocked."
        if scope["method"] not in SAFE and headers.get("sec-fetch-site") in CROSS_SITES:
            return "Requests from other sites cannot change data."
        return None


def _local_port(scope: Scope) -> str | None:
    """Return the address and port of the server's end of a connection, in the form of Host.

    Probes of a cluster send it. DNS rebinding cannot use it, because it is no name.
    """
    address, port = scope.get("server") or (None, None)
    if address is None or port is None:
        return None
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


async def _check_access(scope: Scope, headers: Headers) -> Response | None:
    """Return the response to a caller without access; None admits the caller."""
    path = scope["path"]
    ops = _operations_at(path)
    if path == LOGIN or (ops and all(op.scope is None for op in ops.values())):
        return None
    callers: Callers = scope["app"].state.callers
    try:
        if path.startswith(webhooks.WEBHOOK_PREFIX):
            caller = await _monitor(scope, callers, headers)
        else:
            caller = await callers.find(scope, headers)
    except (Error, TimeoutError) as error:
        return _outage(scope, error)
    if path.startswith(webhooks.WEBHOOK_PREFIX) and webhooks.is_closed(
        scope["app"].state.context, caller
    ):
        return problem(503, webhooks.CLOSED)
    if path.rstrip("/") == MCP:
        return _check_tool_access(scope, caller)
    if caller is None:
        return _challenge(scope, headers)
    if caller.kind == "login" and scope["method"] not in SAFE and not _is_same_origin(headers):
        return problem(
            403, "A logged-in browser can change data only from Lamplighter's own pages."
        )
    scope.setdefault("state", {})["caller"] = caller
    return _check_route(scope, ops, caller)


def _outage(scope: Scope, error: BaseException) -> Response | None:
    """Return the response to a caller that the database cannot identify.

    The endpoint of the tools answers by itself: its clients show a failed call, not a status.
    """
    here: ApiContext = scope["app"].state.context
    if scope["path"].rstrip("/") == MCP:
        scope.setdefault("state", {})["outage"] = here.db.problem or describe_outage(error)
        return None
    detail = here.db.problem or "The database is not available. Try again in a moment."
    if scope["path"] == HALT:
        detail += " `lamplighter halt` works without it."
    return problem(503, detail, headers={"Retry-After": "2"})


def _check_tool_access(scope: Scope, caller: Caller | None) -> Response | None:
    """Return the response to a caller without access to the tools, such as a browser's login."""
    if caller is None or caller.kind == "login":
        detail = "Send a token: Authorization: Bearer lamp_… (`lamplighter token create`)."
        return problem(401, detail, headers={"WWW-Authenticate": "Bearer"})
    scope.setdefault("state", {})["caller"] = caller
    return check_scope(caller, MCP_SCOPE)


async def _monitor(scope: Scope, callers: Callers, headers: Headers) -> Caller | None:
    """Return the monitor that delivers an alert; a monitor has a token of its own."""
    here: ApiContext = scope["app"].state.context
    words = webhooks.request_token(headers)
    known = webhooks.monitor(words, here.active.webhook_token)
    if known or webhooks.HEADER not in headers:
        return known or await callers.find(scope, headers)
    return await callers.bearer(words)


def _operations_at(path: str) -> Operations | None:
    """Return the operations of an address, by method, in the API or in the AgentOps contract."""
    if agentops.is_contract_path(path):
        return agentops.operations_at(path.removeprefix(agentops.PREFIX))
    return ops_at(path)


def _check_route(scope: Scope, ops: Operations | None, caller: Caller) -> Response | None:
    """Return the response to a caller without the required scope."""
    method, path = scope["method"], scope["path"]
    if ops:
        op = ops.get("GET" if method == "HEAD" else method)
        if op is None:
            return None
        refusal = None if op.scope == ANY else check_scope(caller, str(op.scope))
        return refusal or _check_kind(op, caller)
    if method not in PAGE_METHODS and not _is_api_path(path):
        detail = "This path serves the app and accepts only GET and HEAD. Send changes to the API."
        return problem(405, detail, headers={"Allow": ", ".join(PAGE_METHODS)})
    if path not in DESCRIPTION_PATHS and (_is_api_path(path) or not _is_app_route(scope)):
        return problem(404, f"{path} not found.")
    return None


def _check_kind(op: Operation, caller: Caller) -> Response | None:
    if op.person and caller.kind != "login":
        return problem(403, NEEDS_PERSON)
    return problem(403, NEEDS_EVERY_PROJECT) if op.across and caller.bound else None


def _is_app_route(scope: Scope) -> bool:
    """Whether the route that would answer is one of the app's, its page and its files."""
    routes = (each for each in scope["app"].routes if each.matches(scope)[0] is not Match.NONE)
    return getattr(next(routes, None), "name", "") in APP_ROUTES


def _challenge(scope: Scope, headers: Headers) -> Response:
    """Answer an unauthenticated caller: a browser gets the login page at the same address."""
    path = scope["path"]
    page = path == DOCS or (not _is_api_path(path) and ops_at(path) is None)
    if page and scope["method"] in PAGE_METHODS and login_page.accepts_html(headers):
        query = scope["query_string"].decode("ascii", "replace")
        here = f"{path}?{query}" if query else path
        if headers.get("sec-fetch-site") in CROSS_SITES:  # cross-site: our cookie is not sent
            return login_page.redirect_page(here, "Opening Lamplighter", 401)
        return login_page.answer(401, onward=here)
    detail = "Log in, or send a token: Authorization: Bearer lamp_…"
    return problem(401, detail, headers={"WWW-Authenticate": "Bearer"})


def _is_same_origin(headers: Headers) -> bool:
    """Whether a browser reports a page of this site as origin; any other Origin fails."""
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def _is_api_path(path: str) -> bool:
    return path == API or path.startswith(f"{API}/") or agentops.is_contract_path(path)


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
