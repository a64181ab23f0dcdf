"""All routes in one list: routing, OpenAPI and the tests are made from it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import cooldowns, events, feed, memories, services, sessions, shapes, state

Ask = Callable[[Request], Awaitable[Response]]
V1: Final = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One thing that can be asked: how, where, with what, and what comes back."""

    method: str
    path: str
    ask: Ask
    about: str
    gives: type[msgspec.Struct] | None
    status: int = 200
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    problems: tuple[int, ...] = ()
    matches: bool = field(default=False)
    media: str = "application/json"


def _op(
    method: str,
    path: str,
    ask: Ask,
    about: str,
    gives: type[msgspec.Struct] | None,
    **more: object,
) -> Op:
    return Op(method=method, path=path, ask=ask, about=about, gives=gives, **more)  # type: ignore[arg-type]


OPS: Final = (
    _op("GET", "/healthz", state.healthz, "Whether this process lives.", shapes.Health),
    _op(
        "GET",
        "/readyz",
        state.readyz,
        "Whether this process can work.",
        shapes.Health,
        problems=(503,),
    ),
    _op(
        "GET",
        f"{V1}/memories",
        memories.index,
        "List memories.",
        shapes.MemoryPage,
        query=shapes.MemoryQuery,
    ),
    _op(
        "POST",
        f"{V1}/memories",
        memories.create,
        "Add a memory.",
        shapes.Memory,
        status=201,
        body=shapes.MemoryIn,
    ),
    _op(
        "GET",
        f"{V1}/memories/facets",
        memories.facets,
        "Count memories by service, category and state.",
        shapes.Facets,
        query=shapes.FacetQuery,
    ),
    _op(
        "POST",
        f"{V1}/memories/bulk",
        memories.bulk,
        "Delete or change several memories.",
        shapes.Changed,
        body=shapes.Bulk,
    ),
    _op(
        "GET",
        f"{V1}/memories/{{id:int}}",
        memories.show,
        "Read a memory.",
        shapes.Memory,
        problems=(404,),
    ),
    _op(
        "PATCH",
        f"{V1}/memories/{{id:int}}",
        memories.update,
        "Correct a memory.",
        shapes.Memory,
        body=shapes.MemoryEdit,
        problems=(404, 412),
        matches=True,
    ),
    _op(
        "DELETE",
        f"{V1}/memories/{{id:int}}",
        memories.delete,
        "Delete a memory for good.",
        None,
        status=204,
        problems=(404, 412),
        matches=True,
    ),
    _op(
        "GET",
        f"{V1}/memories/{{id:int}}/history",
        memories.past,
        "List the changes of a memory.",
        shapes.HistoryPage,
        query=shapes.PageQuery,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/events",
        events.index,
        "List events, newest first.",
        shapes.EventPage,
        query=shapes.EventQuery,
    ),
    _op(
        "POST",
        f"{V1}/events",
        events.create,
        "Report an event.",
        shapes.Event,
        status=201,
        body=shapes.EventIn,
    ),
    _op(
        "GET",
        f"{V1}/sessions",
        sessions.index,
        "List sessions, newest first.",
        shapes.SessionPage,
        query=shapes.SessionQuery,
    ),
    _op(
        "POST",
        f"{V1}/sessions",
        sessions.create,
        "Ask for a session now.",
        shapes.Request,
        status=202,
        body=shapes.SessionIn,
    ),
    _op(
        "GET",
        f"{V1}/sessions/{{id:int}}",
        sessions.show,
        "Read a session.",
        shapes.Session,
        problems=(404,),
    ),
    _op(
        "POST",
        f"{V1}/sessions/{{id:int}}/stop",
        sessions.stop,
        "Stop a running session.",
        shapes.Session,
        status=202,
        problems=(404, 409),
    ),
    _op(
        "GET",
        f"{V1}/sessions/{{id:int}}/log",
        sessions.log,
        "Read what a session printed.",
        shapes.Log,
        query=shapes.LogQuery,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/sessions/{{id:int}}/chain",
        sessions.chain,
        "Read the chain of sessions that a session stands in.",
        shapes.Chain,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/sessions/{{id:int}}/markers",
        sessions.markers,
        "List what became of a session's markers.",
        shapes.MarkerPage,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/sessions/{{id:int}}/prompt",
        sessions.prompt,
        "Read what a session was told.",
        shapes.Prompt,
        problems=(404,),
    ),
    _op(
        "PUT",
        f"{V1}/markers/{{id:int}}/taken",
        sessions.take,
        "Take a marker that was ignored because it stood in code.",
        shapes.Marker,
        body=shapes.Empty,
        problems=(404, 409),
    ),
    _op(
        "PUT",
        f"{V1}/escalations/{{id:int}}/settled",
        sessions.settle,
        "Say that a person has seen to a service.",
        shapes.Escalation,
        body=shapes.Empty,
        problems=(404, 409),
    ),
    _op(
        "GET",
        f"{V1}/requests",
        sessions.queue,
        "List requests for sessions.",
        shapes.RequestPage,
        query=shapes.RequestQuery,
    ),
    _op(
        "GET",
        f"{V1}/requests/{{id:int}}",
        sessions.wish,
        "Read a request.",
        shapes.Request,
        problems=(404,),
    ),
    _op(
        "DELETE",
        f"{V1}/requests/{{id:int}}",
        sessions.cancel,
        "Take a waiting request back.",
        None,
        status=204,
        problems=(404, 409),
    ),
    _op(
        "GET",
        f"{V1}/overview",
        services.overview,
        "Read how everything stands.",
        shapes.Overview,
        query=shapes.OverviewQuery,
    ),
    _op(
        "GET",
        f"{V1}/services",
        services.index,
        "List services and how each is.",
        shapes.ServicePage,
        query=shapes.Nothing,
    ),
    _op(
        "GET",
        f"{V1}/services/{{name}}",
        services.show,
        "Read how a service is.",
        shapes.Service,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/services/{{name}}/looks",
        services.looks,
        "List the results of a service's checks, newest first.",
        shapes.LookPage,
        query=shapes.PageQuery,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/cooldowns",
        cooldowns.index,
        "List cooldowns and how much of each is used.",
        shapes.StandingPage,
        query=shapes.Nothing,
    ),
    _op(
        "GET",
        f"{V1}/cooldowns/uses",
        cooldowns.uses,
        "List what was done and refused, newest first.",
        shapes.UsePage,
        query=shapes.UseQuery,
    ),
    _op(
        "POST",
        f"{V1}/cooldowns/{{name}}/resets",
        cooldowns.reset,
        "Give a service its slots back.",
        shapes.Cleared,
        status=201,
        body=shapes.ResetIn,
        problems=(404,),
    ),
    _op(
        "GET",
        f"{V1}/supervisor",
        state.supervisor,
        "Read what the supervisor does.",
        shapes.Supervisor,
        query=shapes.Nothing,
    ),
    _op(
        "GET",
        f"{V1}/context",
        state.context,
        "Read what the next session would be told.",
        shapes.Context,
        query=shapes.ContextQuery,
    ),
    _op(
        "GET",
        f"{V1}/changes",
        feed.index,
        "List changes after a number.",
        shapes.ChangesPage,
        query=shapes.ChangesQuery,
    ),
    _op(
        "GET",
        f"{V1}/stream",
        feed.stream,
        "Follow changes as server-sent events.",
        None,
        query=shapes.StreamQuery,
        media="text/event-stream",
    ),
)
