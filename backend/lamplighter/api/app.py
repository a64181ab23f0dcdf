"""The web process's application: routes, the guard before them, and errors in words."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lamplighter.api import openapi, web
from lamplighter.api.answer import etag, problem
from lamplighter.api.door import Door
from lamplighter.api.guard import HEADERS, Guard
from lamplighter.api.routes import OPS, Ask
from lamplighter.domain import plain
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale, Unavailable
from lamplighter.domain.memory import Memory
from lamplighter.repository.driver import OperationalError, disk_is_full

logger = logging.getLogger(__name__)

FULL: Final = (
    "There is no space left where the database is kept. Nothing was changed; "
    "free some space and try again."
)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")

Opening = Callable[[], AbstractAsyncContextManager[Door]]


def create_app(opening: Opening, *, web_directory: Path, hosts: tuple[str, ...] = ()) -> Starlette:
    """Make the application; `opening` opens the database and gives the door at start."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with opening() as door:
            app.state.door = door
            following = asyncio.create_task(door.hub.follow())
            yield
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    return Starlette(
        routes=[*api_routes(), *web.routes(web_directory)],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={
            HTTPException: _on_http,
            Invalid: _on_invalid,
            NotFound: _on_not_found,
            Conflict: _on_conflict,
            Stale: _on_stale,
            Unavailable: _on_unavailable,
            OperationalError: _on_locked,
            TimeoutError: _on_locked,
            Exception: _on_anything,
        },
        lifespan=lifespan,
    )


def api_routes() -> list[BaseRoute]:
    """Return one route a path for every method, so that a wrong one is told all the right ones."""
    ordered = sorted(OPS, key=lambda op: OPS.index(_first(op.path)))
    found: list[BaseRoute] = [
        Route(path, _by_method({op.method: op.ask for op in ops}), methods=METHODS)
        for path, group in groupby(ordered, key=lambda op: op.path)
        for ops in [list(group)]
    ]
    found.append(Route("/api/openapi.json", openapi.document))
    found.append(Route("/api/docs", openapi.docs))
    found += [Route(path, _nothing, methods=METHODS) for path in ("/api", "/api/{path:path}")]
    return found


def _first(path: str) -> object:
    return next(op for op in OPS if op.path == path)


def _by_method(asks: Mapping[str, Ask]) -> Ask:
    async def ask(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in asks:
            allowed = [*asks, "HEAD"] if "GET" in asks else asks
            raise HTTPException(405, headers={"Allow": ", ".join(allowed)})
        return await asks[method](request)

    return ask


async def _nothing(request: Request) -> Response:
    raise HTTPException(404, f"There is nothing at {request.url.path}.")


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, headers=error.headers)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, Invalid)
    return problem(422, str(error), wrong=error.wrong)


async def _on_not_found(request: Request, error: Exception) -> Response:
    return problem(404, str(error))


async def _on_conflict(request: Request, error: Exception) -> Response:
    return problem(409, str(error))


async def _on_stale(request: Request, error: Exception) -> Response:
    assert isinstance(error, Stale)
    assert isinstance(error.current, Memory)
    current = plain.memory(error.current)
    return problem(412, str(error), headers={"ETag": etag(current)}, current=current)


async def _on_unavailable(request: Request, error: Exception) -> Response:
    return problem(503, str(error), headers={"Retry-After": "5"})


async def _on_locked(request: Request, error: Exception) -> Response:
    logger.warning("The database could not be used for %s: %s", request.url.path, error)
    if disk_is_full(error):
        return problem(507, FULL)
    detail = "The database cannot be used now. Nothing was changed; try again."
    return problem(503, detail, headers={"Retry-After": "2"})


async def _on_anything(request: Request, error: Exception) -> Response:
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = "Something failed here; the log of the web process says what."
    return problem(500, detail, headers=HEADERS)  # the guard does not see this answer
