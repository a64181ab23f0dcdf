"""Health, the supervisor, the next prompt, and the change feed."""

from typing import Final

from lamplighter.api import feed, shapes, state
from lamplighter.api.routes.op import Op, op

HEALTH: Final = (
    Op(
        method="GET",
        path="/healthz",
        scope=None,
        ask=state.healthz,
        about="Whether this process lives.",
        gives=shapes.Health,
    ),
    Op(
        method="GET",
        path="/readyz",
        scope=None,
        ask=state.readyz,
        about="Whether this process can work.",
        gives=shapes.Health,
        problems=(503,),
    ),
)
"""What everybody may ask, so that whoever keeps us running needs no token."""

OPS: Final = (
    op(
        "GET",
        "/supervisor",
        "sessions:read",
        state.supervisor,
        "Read what the supervisor does.",
        shapes.Supervisor,
        query=shapes.Nothing,
    ),
    op(
        "GET",
        "/context",
        "context:read",
        state.context,
        "Read what the next session would be told.",
        shapes.Context,
        query=shapes.ContextQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/changes",
        "changes:read",
        feed.index,
        "List changes after a number.",
        shapes.ChangesPage,
        query=shapes.ChangesQuery,
    ),
    op(
        "GET",
        "/stream",
        "changes:read",
        feed.stream,
        "Follow changes as server-sent events.",
        None,
        query=shapes.StreamQuery,
        media="text/event-stream",
    ),
)
