"""All routes in one list; routing, access checks, OpenAPI and tests are generated from it."""

from typing import Final

from starlette.routing import compile_path

from lamplighter.api.access import credentials, login
from lamplighter.api.clients import agents, hooks
from lamplighter.api.configuration import configuration
from lamplighter.api.graph import graph
from lamplighter.api.health import health as memory_health
from lamplighter.api.incidents import incidents
from lamplighter.api.memory import journal, memories, reviews
from lamplighter.api.notebook import notebook
from lamplighter.api.op import ANY as ANY
from lamplighter.api.op import V1 as V1
from lamplighter.api.op import Handler as Handler
from lamplighter.api.op import Operation as Operation
from lamplighter.api.op import declared
from lamplighter.api.organize import runs
from lamplighter.api.revoke import revocations
from lamplighter.api.search import search
from lamplighter.api.services import cooldowns, events, notices, services, webhooks
from lamplighter.api.services.push import push
from lamplighter.api.services.trends import trends
from lamplighter.api.sessions import approvals, halt, prompts, sessions
from lamplighter.api.system import feed, health, metrics, state, status_page
from lamplighter.api.verify import verify

_MODULES: Final = (
    state,
    metrics,
    status_page,
    memories,
    verify,
    search,
    graph,
    runs,
    memory_health,
    revocations,
    notebook,
    events,
    journal,
    reviews,
    approvals,
    sessions,
    prompts,
    halt,
    incidents,
    webhooks,
    notices,
    hooks,
    services,
    cooldowns,
    push,
    configuration,
    trends,
    health,
    feed,
    agents,
    login,
    credentials,
)
_CURRENT: Final = tuple(op for module in _MODULES for op in declared(module))
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
