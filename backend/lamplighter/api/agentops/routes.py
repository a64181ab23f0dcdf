"""The operations of the contract: source of the routing, the access rules, OpenAPI and tests."""

import re
from typing import Final
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, compile_path
from starlette.types import Scope

from lamplighter.api.access.callers import caller_of
from lamplighter.api.agentops import observations, prompts, search, sessions, status, transfer
from lamplighter.api.agentops.contract import AgentOpsOperation, agent_of, declared
from lamplighter.api.agentops.errors import with_contract_errors
from lamplighter.api.op import METHODS, Handler
from lamplighter.api.responses import unsupported_method

PREFIX: Final = "/agentops"
REFUSED_FOR_SESSIONS: Final = (
    "Sessions that Lamplighter runs cannot use this API. They save knowledge with "
    "markers or over MCP."
)
OPERATIONS: Final = tuple(
    op
    for module in (status, sessions, observations, search, prompts, transfer)
    for op in declared(module)
)
_BY_PATH: Final[dict[str, dict[str, AgentOpsOperation]]] = {}
for _entry in OPERATIONS:
    _BY_PATH.setdefault(_entry.path, {})[_entry.method] = _entry
_SLASHES: Final = re.compile(rb"/{2,}")
# literal paths come before paths with parameters
PATHS: Final = sorted(_BY_PATH, key=lambda path: ("{" in path, -len(path)))
_FORMS: Final = tuple((compile_path(path)[0], _BY_PATH[path]) for path in PATHS)


def operations_at(path: str) -> dict[str, AgentOpsOperation] | None:
    """Return the operations of an address, by method; None if there are none."""
    return next((entries for form, entries in _FORMS if form.match(path)), None)


def is_contract_path(path: str) -> bool:
    """Whether an address of the web process is one of this contract."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def collapse_slashes(scope: Scope) -> None:
    """Remove superfluous slashes from the address.

    A client whose base address ends in a slash requests `//context`, and some end every address in
    a slash. A slash within a name is encoded as %2F, and is not removed.
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
            allowed = [*entries, "HEAD"] if "GET" in entries else entries
            raise unsupported_method(request.method, allowed)
        if entry.scope and caller_of(request).session_id is not None:
            raise HTTPException(403, REFUSED_FOR_SESSIONS)
        if entry.scope:
            agent_of(request)  # an agent with an external memory has no memories here
        return await entry.ask(request)

    return with_contract_errors(ask)
