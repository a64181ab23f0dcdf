"""The web application: routes, access checks and error responses."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, ExceptionHandler

from lamplighter.api import openapi, params
from lamplighter.api.access import login
from lamplighter.api.access.callers import Callers, LoginAttempts
from lamplighter.api.agentops import app as agentops
from lamplighter.api.context import ApiContext, api_context, running
from lamplighter.api.graph import graph
from lamplighter.api.guard import HEADERS, Guard
from lamplighter.api.memory import reviews
from lamplighter.api.op import METHODS
from lamplighter.api.request_log import ID, REQUEST, RequestLog
from lamplighter.api.responses import (
    ACT,
    INTERNAL_ERROR,
    describe_database_error,
    etag,
    problem,
    unsupported_method,
)
from lamplighter.api.routes import DOCS, DOCUMENT, LOGIN, MCP, Handler, Operation, by_path
from lamplighter.api.sessions import approvals
from lamplighter.domain.actions.approval import Approval
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale, Unavailable
from lamplighter.domain.graph.entity import Entity, Relationship
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import Review
from lamplighter.formats import serialize
from lamplighter.repository.store.driver import OperationalError, UnsoundDatabase
from lamplighter.telemetry import about
from lamplighter.usecases.access.recording import recorded, unfinished
from lamplighter.usecases.graph.view import entity_case

IMMUTABLE: Final = "public, max-age=31536000, immutable"
NO_PAGES: Final = ("favicon.ico", "robots.txt")  # requested by browsers and crawlers
APP_MISSING: Final = (
    "The app is not built. In a checkout, run `make up` to build it. The API works without it."
)


class Assets(StaticFiles):
    """Files whose names change with their content."""

    def file_response(self, *value: object, **more: object) -> Response:
        """Answer with a file that never changes."""
        response = super().file_response(*value, **more)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = IMMUTABLE
        return response


def routes(web: Path) -> list[BaseRoute]:
    """Return the routes of the app that lies in the directory `web`."""
    page = web / "index.html"

    async def app(request: Request) -> Response:
        path = request.path_params["path"]
        file = web / path
        if "/" not in path and "." in path and ".." not in path and _is_file(file):
            return FileResponse(file, headers={"Cache-Control": "no-cache"})
        if path in NO_PAGES:
            raise HTTPException(404, f"/{path} not found.")
        if not page.is_file():
            return Response(APP_MISSING, 503, media_type="text/plain")
        return FileResponse(page, headers={"Cache-Control": "no-cache"})

    assets = Assets(directory=web / "assets", check_dir=False)
    smaller = [Middleware(GZipMiddleware, minimum_size=1_000)]
    return [
        Mount("/assets", assets, name="assets", middleware=smaller),
        Route("/{path:path}", app, name="page", methods=["GET"], middleware=smaller),
    ]


def _is_file(path: Path) -> bool:
    with suppress(OSError, ValueError):  # the path may be invalid as a file name
        return path.is_file()
    return False


logger = logging.getLogger(__name__)


class Jobs:
    """The jobs of one web process, one of a name at a time; they end with the process."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, work: Coroutine[Any, Any, None], *, wait: float = 0.0) -> None:
        """Start a job, unless one of this name still runs, and wait for it some seconds."""
        if name in self._running:
            work.close()
        else:
            self._running[name] = task = asyncio.create_task(work)
            task.add_done_callback(lambda done: self._over(name, done))
        await asyncio.wait({self._running[name]}, timeout=wait)

    async def end(self) -> None:
        """End all running work; the next start resumes it."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _over(self, name: str, done: asyncio.Task[None]) -> None:
        del self._running[name]
        if not done.cancelled() and (error := done.exception()):
            logger.error("Background work on %s failed: %s", name, error, exc_info=error)


OpenContext = Callable[[], AbstractAsyncContextManager[ApiContext]]


def create_app(
    opening: OpenContext,
    *,
    web_directory: Path,
    hosts: tuple[str, ...] = (),
    mcp: ASGIApp | None = None,
) -> Starlette:
    """Create the application; `opening` opens the database and yields the context.

    `mcp` serves the requests to /mcp that the guard admits.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with opening() as here:
            app.state.context = here
            app.state.callers = callers = Callers(here.db, here.now, here.hub)
            app.state.attempts = LoginAttempts()
            app.state.jobs = jobs = Jobs()
            async with running(here.hub.follow(), callers.note()):
                yield
                await jobs.end()

    return Starlette(
        routes=[
            *api_routes(),
            *agentops.mounted_routes(),
            # both forms: a redirect between them would send requests twice
            *([] if mcp is None else [Route(path, mcp) for path in (MCP, f"{MCP}/")]),
            *routes(web_directory),
        ],
        middleware=[Middleware(RequestLog), Middleware(Guard, hosts=hosts)],
        exception_handlers=_answers(),
        lifespan=lifespan,
    )


def _answers() -> dict[Any, ExceptionHandler]:
    """Return how each kind of error is answered."""
    return {
        HTTPException: _on_http,
        Invalid: _on_invalid,
        NotFound: _answer_with(404),
        Conflict: _answer_with(409),
        Stale: _on_stale,
        Unavailable: _answer_with(503, headers={"Retry-After": "5"}),
        OperationalError: _on_locked,
        TimeoutError: _on_locked,
        Exception: _on_anything,
    }


def _answer_with(status: int, **more: Any) -> ExceptionHandler:
    async def answer(request: Request, error: Exception) -> Response:
        return problem(status, str(error), **more)

    return answer


def api_routes() -> list[BaseRoute]:
    """Return one route per path for all methods, to name the allowed ones in a 405."""
    return [
        *(Route(path, _by_method(ops), methods=METHODS) for path, ops in by_path().items()),
        Route(DOCUMENT, openapi.document),
        Route(DOCS, openapi.docs),
        Route(LOGIN, login.enter),
        Route(LOGIN, login.redeem, methods=["POST"]),
    ]


def _by_method(ops: Mapping[str, Operation]) -> Handler:
    async def ask(request: Request) -> Response:
        op = ops.get("GET" if request.method == "HEAD" else request.method)
        if op is None:
            allowed = [*ops, "HEAD"] if "GET" in ops else ops
            raise unsupported_method(request.method, allowed)
        recorded.set(None)
        unfinished.set(None)
        answer = await op.ask(request)
        if (act := recorded.get()) is not None:
            answer.headers[ACT] = str(act)
        return answer

    return ask


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail, headers=error.headers)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, Invalid)
    sent = Invalid(*params.with_sent_names(request, error.wrong))
    return problem(422, str(sent), wrong=sent.wrong)


async def _on_stale(request: Request, error: Exception) -> Response:
    assert isinstance(error, Stale)
    current = await _serialize_row(request, error.current)
    return problem(412, str(error), headers={"ETag": etag(current)}, current=current)


async def _serialize_row(request: Request, row: object) -> dict[str, Any]:
    if isinstance(row, Review):
        return await reviews.review_case_out(api_context(request).db, row)
    if isinstance(row, Approval):
        return await approvals.approval_case_out(api_context(request), row)
    if isinstance(row, Entity):
        return graph.entity_case_out(await entity_case(api_context(request).db, row))
    if isinstance(row, Relationship):
        return serialize.relationship(row)
    assert isinstance(row, Memory)
    return serialize.memory(row)


async def _on_locked(request: Request, error: Exception) -> Response:
    logger.warning("Database error at %s: %s", request.url.path, error)
    if isinstance(error, UnsoundDatabase):
        return problem(
            503, api_context(request).db.problem or str(error), headers={"Retry-After": "30"}
        )
    act = unfinished.get()
    status, detail, headers = describe_database_error(error, act)
    return problem(status, detail, headers=headers if act is None else {ACT: str(act)})


async def _on_anything(request: Request, error: Exception) -> Response:
    known = request.scope.get("state", {}).get(REQUEST, "")  # its middleware has already exited
    with about(request=known):
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    headers = {**HEADERS, ID: known}  # this response does not pass through the guard
    return problem(500, INTERNAL_ERROR, headers=headers)
