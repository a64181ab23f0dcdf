"""The contract as one list: routing, who may ask, OpenAPI and the tests are made from it."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, compile_path
from starlette.types import Scope

from lamplighter.api.access.callers import caller_of
from lamplighter.api.agentops import (
    observations,
    params,
    prompts,
    search,
    sessions,
    shapes,
    status,
    transfer,
)
from lamplighter.api.agentops.contract import AgentOpsOperation, agent_of
from lamplighter.api.agentops.errors import with_contract_errors
from lamplighter.api.op import Handler

PREFIX: Final = "/agentops"
READ: Final = "knowledge:read"
WRITE: Final = "knowledge:write"
REFUSED_FOR_SESSIONS: Final = (
    "Sessions that Lamplighter runs cannot use this API. They save knowledge with "
    "markers or over MCP."
)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def _read_operation(
    path: str, handler: Handler, about: str, gives: type, **more: object
) -> AgentOpsOperation:
    return AgentOpsOperation(
        method="GET",
        path=path,
        scope=READ,
        ask=handler,
        about=about,
        gives=gives,
        **more,  # type: ignore[arg-type]
    )


def _write_operation(
    method: str, path: str, handler: Handler, about: str, gives: type | None, **more: object
) -> AgentOpsOperation:
    return AgentOpsOperation(
        method=method,
        path=path,
        scope=WRITE,
        ask=handler,
        about=about,
        gives=gives,
        **more,  # type: ignore[arg-type]
    )


OPERATIONS: Final = (
    AgentOpsOperation(
        method="GET",
        path="/health",
        scope=None,
        ask=status.health,
        about="Check the service, and what a search would omit now.",
        gives=shapes.AgentOpsHealth,
    ),
    _write_operation(
        "POST",
        "/sessions",
        sessions.create,
        "Start a session; the same id twice returns the same session.",
        shapes.AgentOpsSession,
        status=201,
        body=params.AgentOpsSessionIn,
        needs=("id", "project"),
        problems=(409,),
    ),
    _write_operation(
        "POST",
        "/sessions/{id:path}/end",
        sessions.end,
        "End a session with a transcript or a summary.",
        shapes.AgentOpsSessionEnd,
        body=params.EndIn,
        problems=(404,),
    ),
    _read_operation(
        "/sessions/recent",
        sessions.recent,
        "List recent sessions.",
        shapes.AgentOpsSession,
        is_list=True,
        query=params.ListQuery,
    ),
    _read_operation(
        "/sessions/{id:path}",
        sessions.show,
        "Read a session.",
        shapes.AgentOpsSession,
        problems=(404,),
    ),
    _write_operation(
        "POST",
        "/observations",
        observations.create,
        "Save an observation: create, revise or count a duplicate.",
        shapes.AgentOpsSaved,
        status=201,
        body=params.ObservationIn,
        needs=observations.REQUIRED_FIELDS,
        problems=(409,),
    ),
    _read_operation(
        "/observations",
        observations.recent,
        "List recent observations.",
        shapes.AgentOpsObservation,
        is_list=True,
        query=params.ListQuery,
    ),
    _write_operation(
        "POST",
        "/observations/passive",
        observations.capture,
        "Save the learnings that a report lists.",
        shapes.AgentOpsCaptured,
        body=params.PassiveIn,
        needs=("session_id",),
        problems=(409,),
    ),
    _read_operation(
        "/observations/recent",
        observations.recent,
        "List recent observations.",
        shapes.AgentOpsObservation,
        is_list=True,
        query=params.ListQuery,
    ),
    _read_operation(
        "/observations/{id}",
        observations.show,
        "Read an observation.",
        shapes.AgentOpsObservation,
        problems=(400, 404),
    ),
    _write_operation(
        "PATCH",
        "/observations/{id}",
        observations.edit,
        "Edit an observation.",
        shapes.AgentOpsObservation,
        body=params.ObservationEdit,
        problems=(404,),
    ),
    _write_operation(
        "DELETE",
        "/observations/{id}",
        observations.delete,
        "Withdraw an observation; hard=true moves it to the trash.",
        None,
        status=204,
        gives_lenient=shapes.AgentOpsDeleted,
        status_lenient=200,
        query=params.DeleteQuery,
        problems=(404,),
    ),
    _read_operation(
        "/search",
        search.search,
        "Search observations, best match first.",
        shapes.AgentOpsHit,
        is_list=True,
        query=params.AgentOpsSearchQuery,
    ),
    _read_operation(
        "/context",
        search.context,
        "Read the context for a client: sessions and observations.",
        shapes.AgentOpsContext,
        query=params.AgentOpsContextQuery,
    ),
    _read_operation(
        "/timeline",
        observations.timeline,
        "List the observations saved before and after an observation.",
        shapes.AgentOpsTimelineEntry,
        is_list=True,
        gives_lenient=shapes.AgentOpsTimeline,
        query=params.TimelineQuery,
        problems=(404,),
    ),
    _read_operation(
        "/stats",
        observations.stats,
        "Count sessions, observations and prompts.",
        shapes.AgentOpsStats,
        query=params.ProjectQuery,
    ),
    _write_operation(
        "POST",
        "/prompts",
        prompts.create,
        "Save a user prompt.",
        shapes.AgentOpsPromptSaved,
        status=201,
        body=params.PromptIn,
        needs=("session_id", "content"),
        problems=(409,),
    ),
    _read_operation(
        "/prompts/recent",
        prompts.recent,
        "List recent prompts.",
        shapes.AgentOpsPrompt,
        is_list=True,
        query=params.ListQuery,
    ),
    _read_operation(
        "/prompts/search",
        prompts.search,
        "Search prompts.",
        shapes.AgentOpsPrompt,
        is_list=True,
        query=params.AgentOpsSearchQuery,
    ),
    _write_operation(
        "DELETE",
        "/prompts/{id}",
        prompts.delete,
        "Withdraw a prompt; hard=true deletes it permanently.",
        shapes.AgentOpsDeleted,
        query=params.DeleteQuery,
        problems=(400, 404),
    ),
    _write_operation(
        "POST",
        "/suggest-topic-key",
        search.topic_key,
        "Suggest a topic key.",
        shapes.AgentOpsTopic,
        body=params.TopicIn,
    ),
    _read_operation(
        "/suggest-topic-key",
        search.topic_key,
        "Suggest a topic key.",
        shapes.AgentOpsTopic,
        query=params.TopicIn,
    ),
    _read_operation(
        "/export",
        transfer.export_rows,
        "Export all data in the format of engram.",
        shapes.AgentOpsExport,
        query=params.ProjectQuery,
    ),
    _write_operation(
        "POST",
        "/import",
        transfer.import_rows,
        "Import an export of AgentOps or engram.",
        shapes.AgentOpsImported,
        body=params.ImportIn,
    ),
    _write_operation(
        "POST",
        "/projects/migrate",
        transfer.migrate,
        "Move all data of one project to another.",
        shapes.AgentOpsMigrated,
        body=params.MigrateIn,
        needs=("old_project", "new_project"),
    ),
    _read_operation(
        "/project/current",
        status.current_project,
        "Read the project name of a directory.",
        shapes.AgentOpsProject,
        query=params.DirectoryQuery,
    ),
    _read_operation(
        "/sync/status",
        status.sync,
        "Read the cloud sync status; sync is always off.",
        shapes.AgentOpsSync,
    ),
)

_BY_PATH: Final[dict[str, dict[str, AgentOpsOperation]]] = {}
for _entry in OPERATIONS:
    _BY_PATH.setdefault(_entry.path, {})[_entry.method] = _entry
_SLASHES: Final = re.compile(rb"/{2,}")
# what is said in full comes before what has a name in it
PATHS: Final = sorted(_BY_PATH, key=lambda path: ("{" in path, -len(path)))
_FORMS: Final = tuple((compile_path(path)[0], _BY_PATH[path]) for path in PATHS)


def operations_at(path: str) -> dict[str, AgentOpsOperation] | None:
    """Return what can be asked at an address, by method; None where there is nothing."""
    return next((entries for form, entries in _FORMS if form.match(path)), None)


def is_contract_path(path: str) -> bool:
    """Whether an address of the web process is one of this contract."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def collapse_slashes(scope: Scope) -> None:
    """Let an address be without the slashes that are one too many.

    A client whose base address ends in one asks for `//context`, and some end all in one.
    A slash that is part of a name is written as %2F, and stays.
    """
    raw: bytes | None = scope.get("raw_path")
    if raw is None or not (b"//" in raw or raw.endswith(b"/")):
        return
    plain = _SLASHES.sub(b"/", raw).rstrip(b"/") or b"/"
    scope["raw_path"], scope["path"] = plain, unquote(plain.decode("ascii", "replace"))


def routes(prefix: str, *, strict: bool) -> list[BaseRoute]:
    """Return the routes of a mount: strict as AgentOps' service is, or lenient as engram."""
    return [
        Route(f"{prefix}{path}", _by_method(_BY_PATH[path], strict), methods=METHODS)
        for path in PATHS
    ]


def _by_method(entries: dict[str, AgentOpsOperation], strict: bool) -> Handler:
    async def ask(request: Request) -> Response:
        request.state.strict = strict
        entry = entries.get("GET" if request.method == "HEAD" else request.method)
        if entry is None:
            raise HTTPException(405, headers={"Allow": ", ".join(allowed_methods(entries))})
        if entry.scope and caller_of(request).session_id is not None:
            raise HTTPException(403, REFUSED_FOR_SESSIONS)
        if entry.scope:
            agent_of(request)  # one that keeps its knowledge elsewhere has none here
        return await entry.ask(request)

    return with_contract_errors(ask)


def allowed_methods(entries: Iterable[str]) -> list[str]:
    """Return the methods that an address knows."""
    known = list(entries)
    return [*known, "HEAD"] if "GET" in known else known
