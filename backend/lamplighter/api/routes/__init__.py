"""All routes in one list: routing, who may ask, OpenAPI and the tests are made from it."""

from typing import Final

from starlette.routing import compile_path

from lamplighter.api.routes import (
    access,
    agents,
    approvals,
    halt,
    hooks,
    journal,
    memories,
    outside,
    reviews,
    services,
    sessions,
    standing,
)
from lamplighter.api.routes.op import ANY as ANY
from lamplighter.api.routes.op import V1 as V1
from lamplighter.api.routes.op import Ask as Ask
from lamplighter.api.routes.op import Op as Op

OPS: Final = (
    *standing.HEALTH,
    *memories.OPS,
    *journal.OPS,
    *reviews.OPS,
    *approvals.OPS,
    *sessions.OPS,
    *halt.OPS,
    *outside.OPS,
    *hooks.OPS,
    *services.OPS,
    *standing.OPS,
    *agents.OPS,
    *access.OPS,
)

API: Final = "/api"
LOGIN: Final = "/login"
DOCUMENT: Final = f"{API}/openapi.json"
DOCS: Final = f"{API}/docs"
MCP: Final = "/mcp"
MCP_SCOPE: Final = "knowledge:read"
"""What a token must hold to use the tools; those that write want more."""

PAGE_METHODS: Final = ("GET", "HEAD")
"""How what is not the API may be asked: the app is read, and never written to."""

_BY_PATH: Final[dict[str, dict[str, Op]]] = {}
for _op in OPS:
    _BY_PATH.setdefault(_op.path, {})[_op.method] = _op
_FORMS: Final = tuple((compile_path(path)[0], ops) for path, ops in _BY_PATH.items())


def ops_at(path: str) -> dict[str, Op] | None:
    """Return what can be asked at an address, by method; None where the table has nothing."""
    for form, ops in _FORMS:
        if form.match(path):
            return ops
    return None


def by_path() -> dict[str, dict[str, Op]]:
    """Return the whole table by address and method."""
    return _BY_PATH
