"""Health, the supervisor, the next prompt, and the change feed."""

from typing import Final

from lamplighter.api import feed, metrics, shapes, standing, state
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
    Op(
        method="GET",
        path="/metrics",
        scope="health:read",
        ask=metrics.metrics,
        about="Read figures for Prometheus.",
        gives=None,
        query=shapes.Nothing,
        media="text/plain",
    ),
)
"""What is asked by whoever keeps us running: all but the figures need no token."""

OPS: Final = (
    op(
        "GET",
        "/health",
        "health:read",
        standing.health,
        "Read whether Lamplighter itself is well.",
        shapes.Vitals,
        query=shapes.Nothing,
    ),
    op(
        "POST",
        "/health/looks",
        "health:write",
        standing.look_closer,
        "Check the whole database too, and count anew.",
        shapes.Vitals,
        status=201,
        body=shapes.Empty,
    ),
    op(
        "GET",
        "/settings",
        "settings:read",
        standing.settings,
        "Read the settings in force and where each comes from.",
        shapes.SettingsOut,
        query=shapes.Nothing,
    ),
    op(
        "POST",
        "/settings/line",
        "settings:read",
        standing.line,
        "Say how a setting is written in lamplighter.toml.",
        shapes.SettingLine,
        body=shapes.SettingIn,
    ),
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
        or_gives=(shapes.AgentContext, shapes.ProjectContext),
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
        across=True,
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
        across=True,
    ),
)
