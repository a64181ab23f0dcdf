"""One entry of the route table."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from inspect import cleandoc
from types import ModuleType
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import api_context
from lamplighter.api.responses import answer
from lamplighter.domain.access.access import ADMIN

Handler = Callable[[Request], Awaitable[Response]]
ParameterHandler = TypeVar("ParameterHandler", bound=Callable[..., Awaitable[Any]])
V1: Final = "/api/v1"
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
"""The methods that a route answers, if only to name the allowed ones."""
ANY: Final = "any"
"""Any authenticated caller: a login, or a token with any scopes."""
OF_EVERY_PROJECT: Final = (
    *("tokens:", "settings:", "approvals:", "changes:"),
    *("memories:write", "reviews:write"),
)
"""The scopes of which each route is over all projects."""


class NoQuery(msgspec.Struct):
    """The query of a route that takes no parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A route: its method, path, required scope, handler, parameters and responses.

    `problems` are its statuses besides those of every route of its kind: 404 with a parameter in
    the path, 412 if it `matches` a version. `scope` None admits everybody. `or_gives` lists the
    other response types. `across` marks a route over all projects: callers that are bound to one
    project are refused. `deprecated_path` is an earlier path that still works.
    """

    method: str
    path: str
    scope: str | None
    ask: Handler
    about: str
    gives: type[msgspec.Struct] | None
    or_gives: tuple[type[msgspec.Struct], ...] = ()
    status: int = 200
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    problems: tuple[int, ...] = ()
    matches: bool = False
    across: bool = False
    media: str = "application/json"
    deprecated_path: str | None = None
    deprecated: bool = False

    @property
    def person(self) -> bool:
        """Whether only the login of a person is admitted, whatever scopes a token has."""
        return self.scope == ADMIN

    def deprecated_alias(self) -> "Operation | None":
        """Return the same route at its earlier path, if it has one."""
        if self.deprecated_path is None:
            return None
        about = f"Deprecated: use `{self.path.replace(':int', '')}`."
        return replace(
            self,
            path=V1 + self.deprecated_path,
            deprecated_path=None,
            about=about,
            deprecated=True,
        )


def first_paragraph(handler: Handler) -> str:
    """Return the first paragraph of a handler's docstring: the description of its route."""
    return cleandoc(handler.__doc__ or "").split("\n\n")[0].replace("\n", " ")


_DECLARED: dict[str, list[Operation]] = {}


def operation(
    method: str,
    path: str,
    scope: str | None,
    gives: type[msgspec.Struct] | None,
    *,
    below: str = V1,
    across: bool = False,
    check: Callable[[Request], Awaitable[None]] | None = None,
    rules: params.Rules = params.no_rules,
    **more: Any,
) -> Callable[[ParameterHandler], ParameterHandler]:
    """Declare the route that a handler answers; its docstring's first paragraph is `about`.

    After the `check` of the request, the handler gets the parameters that it names, read in their
    order: `request`, `here`, `caller`, `query` and `body` by their annotated shapes, the `number`
    of the path and the expected `version` of its row. `rules` are further rules for the body. A
    shape that is given here instead only describes what the handler reads itself. A value that is
    not a response is answered as JSON.
    """

    def declare(handler: ParameterHandler) -> ParameterHandler:
        names, forms = parameters_of(handler)
        without_query = below == V1 and method == "GET" and "query" not in forms | more
        status = more.get("status", 204 if method == "DELETE" and gives is None else 200)

        @wraps(handler)
        async def ask(request: Request) -> Response:
            if check:
                await check(request)
            if without_query:
                params.query(request, NoQuery)
            values: dict[str, Any] = {}
            for name, kind in names.items():
                values[name] = await _parameter(request, name, kind, values, rules)
            return _response(await handler(**values), status)

        op = Operation(
            method=method,
            path=below + path,
            scope=scope,
            ask=ask,
            gives=gives,
            across=across or (scope or "").startswith(OF_EVERY_PROJECT),
            **_described(handler, names, status) | forms | more,
        )
        _DECLARED.setdefault(handler.__module__, []).append(op)
        return handler

    return declare


def parameters_of(handler: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a handler with their types; and those that describe its route."""
    names = {name: kind for name, kind in handler.__annotations__.items() if name != "return"}
    return names, {name: kind for name, kind in names.items() if name in ("query", "body")}


def _described(handler: Handler, names: Collection[str], status: int) -> dict[str, Any]:
    about = first_paragraph(handler)
    return {"about": about, "status": status, "matches": "version" in names}


def _response(found: Any, status: int) -> Response:
    if isinstance(found, Response):
        return found
    return Response(status_code=204) if status == 204 else answer(found, status)


async def _parameter(
    request: Request, name: str, kind: Any, read: Mapping[str, Any], rules: params.Rules
) -> Any:
    """Read a parameter of a handler; `read` are those before it."""
    match name:
        case "here":
            return api_context(request)
        case "caller":
            return caller_of(request)
        case "query":
            return params.query(request, kind)
        case "body":
            return await params.body(request, kind, rules)
        case "number":
            return params.number(request)
        case "version":
            return params.version(request, read["number"])
    return request


def declared(module: ModuleType) -> list[Operation]:
    """Return the operations that a module declares, in its order."""
    return _DECLARED[module.__name__]
