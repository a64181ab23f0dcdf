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
        "Read whether the next prompt includes a memory, why, and what would include it.",
        memory_shapes.InclusionOut,
        query=memory_shapes.InclusionQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/health",
        "health:read",
        health.health,
        "Read the health of Lamplighter itself.",
        shapes.HealthOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "POST",
        "/health/checks",
        "health:write",
        health.run_full_check,
        "Run a full health check, including every page of the database.",
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
        "Read the active settings and their sources.",
        shapes.SettingsOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "POST",
        "/settings/line",
        "settings:read",
        health.line,
        "Format a setting as a line of lamplighter.toml.",
        shapes.SettingLine,
        body=shapes.SettingIn,
    ),
    op(
        "GET",
        "/supervisor",
        "sessions:read",
        state.supervisor,
        "Read the supervisor status.",
        shapes.SupervisorOut,
        query=common_shapes.NoParameters,
    ),
    op(
        "GET",
        "/context",
        "context:read",
        state.context,
        "Preview the prompt of the next session.",
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
        "List changes after a sequence number.",
        shapes.ChangesPage,
        query=shapes.ChangesQuery,
        across=True,
    ),
    op(
        "GET",
        "/stream",
        "changes:read",
        feed.stream,
        "Stream changes as server-sent events.",
        None,
        query=shapes.StreamQuery,
        media="text/event-stream",
        across=True,
    ),
)
