"""All routes in one list; routing, access checks, OpenAPI and tests are generated from it."""

from typing import Final

from starlette.routing import compile_path

from lamplighter.api.access import routes
from lamplighter.api.clients import routes as agents
from lamplighter.api.clients import routes as hooks
from lamplighter.api.configuration import routes as configuration
from lamplighter.api.graph import routes as graph
from lamplighter.api.health import routes as memory_health
from lamplighter.api.incidents import routes as incidents
from lamplighter.api.memory import journal_routes, review_routes
from lamplighter.api.memory import routes as memories
from lamplighter.api.notebook import routes as notebook
from lamplighter.api.op import ANY as ANY
from lamplighter.api.op import V1 as V1
from lamplighter.api.op import Handler as Handler
from lamplighter.api.op import Operation as Operation
from lamplighter.api.organize import routes as organizer
from lamplighter.api.revoke import routes as revocations
from lamplighter.api.search import routes as search
from lamplighter.api.services import event_routes, notification_routes
from lamplighter.api.services import routes as services
from lamplighter.api.services.push import routes as push
from lamplighter.api.services.trends import routes as trends
from lamplighter.api.sessions import approval_routes
from lamplighter.api.sessions import routes as sessions
from lamplighter.api.system import routes as standing
from lamplighter.api.verify import routes as verification

_CURRENT: Final = (
    *standing.HEALTH,
    *memories.OPS,
    *verification.OPS,
    *search.OPS,
    *graph.OPS,
    *organizer.OPS,
    *memory_health.OPS,
    *revocations.OPS,
    *notebook.OPS,
    *event_routes.OPS,
    *journal_routes.OPS,
    *review_routes.OPS,
    *approval_routes.OPS,
    *sessions.OPS,
    *approval_routes.HALT_OPS,
    *incidents.OPS,
    *notification_routes.OPS,
    *hooks.HOOK_OPS,
    *services.OPS,
    *push.OPS,
    *configuration.OPS,
    *trends.OPS,
    *standing.OPS,
    *agents.OPS,
    *routes.OPS,
)
_ALIASES: Final = (op.deprecated_alias() for op in _CURRENT)
OPS: Final = (*_CURRENT, *(alias for alias in _ALIASES if alias))

API: Final = "/api"
LOGIN: Final = "/login"
DOCUMENT: Final = f"{API}/openapi.json"
DOCS: Final = f"{API}/docs"
MCP: Final = "/mcp"
MCP_SCOPE: Final = "knowledge:read"
"""The scope that a token needs for the tools; tools that write need more."""

PAGE_METHODS: Final = ("GET", "HEAD")
"""The methods of routes outside the API: the app is only read."""

_BY_PATH: Final[dict[str, dict[str, Operation]]] = {}
for _op in OPS:
    _BY_PATH.setdefault(_op.path, {})[_op.method] = _op
_FORMS: Final = tuple((compile_path(path)[0], ops) for path, ops in _BY_PATH.items())


def ops_at(path: str) -> dict[str, Operation] | None:
    """Return the routes of a path by method; None for an unknown path."""
    for form, ops in _FORMS:
        if form.match(path):
            return ops
    return None


def by_path() -> dict[str, dict[str, Operation]]:
    """Return all routes by path and method."""
    return _BY_PATH
