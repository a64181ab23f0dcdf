"""The AgentOps contract as a service: below /agentops in the web process, and alone at the root."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from lamplighter.api.access.callers import Callers, check_scope
from lamplighter.api.agentops.openapi import DOCUMENT, openapi
from lamplighter.api.agentops.routes import PREFIX, is_contract_path, operations_at, routes
from lamplighter.api.context import MemoryServiceContext, running
from lamplighter.api.request_log import RequestLog
from lamplighter.api.responses import answer, problem
from lamplighter.domain.access.access import Caller
from lamplighter.repository.store.driver import Error, OperationalError
from lamplighter.usecases.clients import client_sessions

logger = logging.getLogger(__name__)

ANONYMOUS: Final = Caller(kind="token", id=0, name="this machine", scopes=("knowledge:write",))
"""The caller on this machine without a token; permanent deletion requires a token."""

CROSS_SITES: Final = ("cross-site", "same-site")
SWEEP_SECONDS: Final = 3_600.0

OpenContext = Callable[[], AbstractAsyncContextManager[MemoryServiceContext]]
AccessCheck = Callable[[Scope, Headers], Awaitable[Response | None]]


def mounted_routes() -> list[BaseRoute]:
    """Return the routes of the web process: strict, below /agentops."""
    document = openapi(prefix=PREFIX, strict=True, tokens=True)
    return [Route(f"{PREFIX}{DOCUMENT}", _document(document)), *routes(PREFIX, strict=True)]


def create_app(
    opening: OpenContext, *, strict: bool, tokens: bool, hosts: tuple[str, ...] = ()
) -> Starlette:
    """Create the memory service: the contract at the root, and strict below /agentops.

    `tokens` states that every request needs a token.
    """
    from lamplighter.api.guard import Guard

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with opening() as here:
            app.state.context = here
            app.state.callers = callers = Callers(here.db, here.now)
            async with running(callers.note(), _sweep(here)):
                yield

    at_root = openapi(prefix="", strict=strict, tokens=tokens)
    below_prefix = openapi(prefix=PREFIX, strict=True, tokens=tokens)
    return Starlette(
        routes=[
            Route(DOCUMENT, _document(at_root)),
            Route(f"{PREFIX}{DOCUMENT}", _document(below_prefix)),
            *routes(PREFIX, strict=True),
            *routes("", strict=strict),
        ],
        middleware=[
            Middleware(RequestLog),
            Middleware(Guard, hosts=hosts, stopped=_access_check(tokens), theirs=lambda path: True),
        ],
        lifespan=lifespan,
    )


def _document(block: dict[str, object]) -> Callable[[Request], Awaitable[Response]]:
    async def document(request: Request) -> Response:
        return answer(block)

    return document


def _access_check(tokens: bool) -> AccessCheck:
    async def stopped(scope: Scope, headers: Headers) -> Response | None:
        path = scope["path"]
        if is_contract_path(path):
            path = path.removeprefix(PREFIX)
        if headers.get("sec-fetch-site") in CROSS_SITES:
            return problem(403, "Requests from pages of other sites are blocked.")
        if path == DOCUMENT:
            return None
        entries = operations_at(path)
        if entries is None:
            return problem(404, f"{scope['path']} not found.")
        if all(each.scope is None for each in entries.values()):
            return None
        caller = await _caller(scope, headers, tokens)
        if isinstance(caller, Response):
            return caller
        scope.setdefault("state", {})["caller"] = caller
        entry = entries.get("GET" if scope["method"] == "HEAD" else scope["method"])
        return check_scope(caller, entry.scope) if entry and entry.scope else None

    return stopped


async def _caller(scope: Scope, headers: Headers, tokens: bool) -> Caller | Response:
    """Return the caller; an invalid token denies access everywhere."""
    if not tokens and "authorization" not in headers:
        return ANONYMOUS
    callers: Callers = scope["app"].state.callers
    scheme, _, words = headers.get("authorization", "").partition(" ")
    try:
        caller = await callers.bearer(words.strip() if scheme.lower() == "bearer" else "")
    except (Error, TimeoutError):
        detail = "The database is not available. Try again in a moment."
        return problem(503, detail, headers={"Retry-After": "2"})
    if caller is None:
        detail = "Send a token: Authorization: Bearer lamp_…"
        return problem(401, detail, headers={"WWW-Authenticate": "Bearer"})
    return caller


async def _sweep(here: MemoryServiceContext) -> None:
    """Close the sessions of silent clients every hour; a supervisor may do the same."""
    while True:
        try:
            await client_sessions.close_inactive(here.db, now=here.now())
        except (OperationalError, TimeoutError) as error:
            logger.info("Could not close inactive sessions: %s", error)
        except Exception:
            logger.exception("Could not close inactive sessions.")
        await asyncio.sleep(SWEEP_SECONDS)
