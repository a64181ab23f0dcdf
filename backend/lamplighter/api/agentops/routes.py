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
from lamplighter.api.agentops.contract import Entry, agent_of
from lamplighter.api.agentops.errors import in_their_form
from lamplighter.api.op import Ask

PREFIX: Final = "/agentops"
READ: Final = "knowledge:read"
WRITE: Final = "knowledge:write"
NOT_OURS: Final = "A session of ours keeps its knowledge by its markers and over MCP, not here."
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def _reads(path: str, ask: Ask, about: str, gives: type, **more: object) -> Entry:
    return Entry(method="GET", path=path, scope=READ, ask=ask, about=about, gives=gives, **more)  # type: ignore[arg-type]


def _writes(
    method: str, path: str, ask: Ask, about: str, gives: type | None, **more: object
) -> Entry:
    return Entry(
        method=method,
        path=path,
        scope=WRITE,
        ask=ask,
        about=about,
        gives=gives,
        **more,  # type: ignore[arg-type]
    )


ENTRIES: Final = (
    Entry(
        method="GET",
        path="/health",
        scope=None,
        ask=status.health,
        about="Check the service, and what a search would omit now.",
        gives=shapes.Health,
    ),
    _writes(
        "POST",
        "/sessions",
        sessions.create,
        "Start a session; the same id twice returns the same session.",
        shapes.Session,
        status=201,
        body=params.SessionIn,
        needs=("id", "project"),
        problems=(409,),
    ),
    _writes(
        "POST",
        "/sessions/{id:path}/end",
        sessions.end,
        "End a session with a transcript or a summary.",
        shapes.Ended,
        body=params.EndIn,
        problems=(404,),
    ),
    _reads(
        "/sessions/recent",
        sessions.recent,
        "List recent sessions.",
        shapes.Session,
        many=True,
        query=params.ListQuery,
    ),
    _reads(
        "/sessions/{id:path}", sessions.show, "Read a session.", shapes.Session, problems=(404,)
    ),
    _writes(
        "POST",
        "/observations",
        observations.create,
        "Save an observation: create, revise or count a duplicate.",
        shapes.Saved,
        status=201,
        body=params.ObservationIn,
        needs=observations.NEEDS,
        problems=(409,),
    ),
    _reads(
        "/observations",
        observations.recent,
        "List recent observations.",
        shapes.Observation,
        many=True,
        query=params.ListQuery,
    ),
    _writes(
        "POST",
        "/observations/passive",
        observations.capture,
        "Save the learnings that a report lists.",
        shapes.Captured,
        body=params.PassiveIn,
        needs=("session_id",),
        problems=(409,),
    ),
    _reads(
        "/observations/recent",
        observations.recent,
        "List recent observations.",
        shapes.Observation,
        many=True,
        query=params.ListQuery,
    ),
    _reads(
        "/observations/{id}",
        observations.show,
        "Read an observation.",
        shapes.Observation,
        problems=(400, 404),
    ),
    _writes(
        "PATCH",
        "/observations/{id}",
        observations.edit,
        "Edit an observation.",
        shapes.Observation,
        body=params.ObservationEdit,
        problems=(404,),
    ),
    _writes(
        "DELETE",
        "/observations/{id}",
        observations.delete,
        "Withdraw an observation; hard=true moves it to the trash.",
        None,
        status=204,
        gives_lenient=shapes.Deleted,
        status_lenient=200,
        query=params.DeleteQuery,
        problems=(404,),
    ),
    _reads(
        "/search",
        search.search,
        "Search observations, best match first.",
        shapes.Hit,
        many=True,
        query=params.SearchQuery,
    ),
    _reads(
        "/context",
        search.context,
        "Read the context for a client: sessions and observations.",
        shapes.Context,
        query=params.ContextQuery,
    ),
    _reads(
        "/timeline",
        observations.timeline,
        "List the observations saved before and after an observation.",
        shapes.Entry,
        many=True,
        gives_lenient=shapes.Timeline,
        query=params.TimelineQuery,
        problems=(404,),
    ),
    _reads(
        "/stats",
        observations.stats,
        "Count sessions, observations and prompts.",
        shapes.Stats,
        query=params.ProjectQuery,
    ),
    _writes(
        "POST",
        "/prompts",
        prompts.create,
        "Save a user prompt.",
        shapes.PromptSaved,
        status=201,
        body=params.PromptIn,
        needs=("session_id", "content"),
        problems=(409,),
    ),
    _reads(
        "/prompts/recent",
        prompts.recent,
        "List recent prompts.",
        shapes.Prompt,
        many=True,
        query=params.ListQuery,
    ),
    _reads(
        "/prompts/search",
        prompts.search,
        "Search prompts.",
        shapes.Prompt,
        many=True,
        query=params.SearchQuery,
    ),
    _writes(
        "DELETE",
        "/prompts/{id}",
        prompts.delete,
        "Withdraw a prompt; hard=true deletes it permanently.",
        shapes.Deleted,
        query=params.DeleteQuery,
        problems=(400, 404),
    ),
    _writes(
        "POST",
        "/suggest-topic-key",
        search.topic_key,
        "Suggest a topic key.",
        shapes.Topic,
        body=params.TopicIn,
    ),
    _reads(
        "/suggest-topic-key",
        search.topic_key,
        "Suggest a topic key.",
        shapes.Topic,
        query=params.TopicIn,
    ),
    _reads(
        "/export",
        transfer.out,
        "Export all data in the format of engram.",
        shapes.Export,
        query=params.ProjectQuery,
    ),
    _writes(
        "POST",
        "/import",
        transfer.bring,
        "Import an export of AgentOps or engram.",
        shapes.Imported,
        body=params.ImportIn,
    ),
    _writes(
        "POST",
        "/projects/migrate",
        transfer.migrate,
        "Move all data of one project to another.",
        shapes.Migrated,
        body=params.MigrateIn,
        needs=("old_project", "new_project"),
    ),
    _reads(
        "/project/current",
        status.place,
        "Read the project name of a directory.",
        shapes.Place,
        query=params.PlaceQuery,
    ),
    _reads(
        "/sync/status",
        status.sync,
        "Read the cloud sync status; sync is always off.",
        shapes.Sync,
    ),
)

_BY_PATH: Final[dict[str, dict[str, Entry]]] = {}
for _entry in ENTRIES:
    _BY_PATH.setdefault(_entry.path, {})[_entry.method] = _entry
_SLASHES: Final = re.compile(rb"/{2,}")
# what is said in full comes before what has a name in it
PATHS: Final = sorted(_BY_PATH, key=lambda path: ("{" in path, -len(path)))
_FORMS: Final = tuple((compile_path(path)[0], _BY_PATH[path]) for path in PATHS)


def entries_at(path: str) -> dict[str, Entry] | None:
    """Return what can be asked at an address, by method; None where there is nothing."""
    return next((entries for form, entries in _FORMS if form.match(path)), None)


def below(path: str) -> bool:
    """Whether an address of the web process is one of this contract."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def without_slashes(scope: Scope) -> None:
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


def _by_method(entries: dict[str, Entry], strict: bool) -> Ask:
    async def ask(request: Request) -> Response:
        request.state.strict = strict
        entry = entries.get("GET" if request.method == "HEAD" else request.method)
        if entry is None:
            raise HTTPException(405, headers={"Allow": ", ".join(allowed(entries))})
        if entry.scope and caller_of(request).session_id is not None:
            raise HTTPException(403, NOT_OURS)
        if entry.scope:
            agent_of(request)  # one that keeps its knowledge elsewhere has none here
        return await entry.ask(request)

    return in_their_form(ask)


def allowed(entries: Iterable[str]) -> list[str]:
    """Return the methods that an address knows."""
    known = list(entries)
    return [*known, "HEAD"] if "GET" in known else known
