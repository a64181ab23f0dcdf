"""Health, the supervisor, the next prompt, and the change feed."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.access import project_wall
from lamplighter.api.clients import shapes as clients_shapes
from lamplighter.api.memory import context_shapes
from lamplighter.api.memory import shapes as memory_shapes
from lamplighter.api.op import Operation, op
from lamplighter.api.system import feed, health, metrics, shapes, state, status_page

HEALTH: Final = (
    Operation(
        method="GET",
        path="/healthz",
        scope=None,
        ask=state.healthz,
        about="Check that this process responds.",
        gives=shapes.ReadinessOut,
    ),
    Operation(
        method="GET",
        path="/readyz",
        scope=None,
        ask=state.readyz,
        about="Check that this process is ready to serve requests.",
        gives=shapes.ReadinessOut,
        problems=(503,),
    ),
    Operation(
        method="GET",
        path="/metrics",
        scope="health:read",
        ask=metrics.metrics,
        about="Read metrics in Prometheus format.",
        gives=None,
        query=common_shapes.NoParameters,
        media="text/plain",
    ),
    Operation(
        method="GET",
        path="/status",
        scope=None,
        ask=status_page.show,
        about="Read the public status page, if services are chosen for it.",
        gives=None,
        media="text/html",
        problems=(404, 429),
    ),
)
"""Routes for monitoring, deployment and the public; only the metrics need a token."""

OPS: Final = (
    op(
        "GET",
        "/memories/{id:int}/prompt",
        "context:read",
        project_wall.restrict_memory(state.inclusion),
        memory_shapes.InclusionOut,
        query=memory_shapes.InclusionQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/health",
        "health:read",
        health.health,
        shapes.HealthOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "POST",
        "/health/checks",
        "health:write",
        health.run_full_check,
        shapes.HealthOut,
        status=201,
        body=common_shapes.Empty,
        deprecated_path="/health/looks",
    ),
    op(
        "GET",
        "/settings",
        "settings:read",
        health.settings,
        shapes.SettingsOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "POST",
        "/settings/line",
        "settings:read",
        health.line,
        shapes.SettingLine,
        body=shapes.SettingIn,
    ),
    op(
        "GET",
        "/supervisor",
        "sessions:read",
        state.supervisor,
        shapes.SupervisorOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "GET",
        "/context",
        "context:read",
        state.context,
        context_shapes.ContextOut,
        or_gives=(clients_shapes.AgentContextOut, clients_shapes.ProjectContext),
        query=context_shapes.ContextQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/changes",
        "changes:read",
        feed.index,
        shapes.ChangesPage,
        query=shapes.ChangesQuery,
        across=True,
    ),
    op(
        "GET",
        "/stream",
        "changes:read",
        feed.stream,
        None,
        query=shapes.StreamQuery,
        media="text/event-stream",
        across=True,
    ),
)
