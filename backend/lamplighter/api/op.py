"""One entry of the route table."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import cleandoc
from types import ModuleType
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.domain.access.access import ADMIN

Handler = Callable[[Request], Awaitable[Response]]
ParameterHandler = TypeVar("ParameterHandler", bound=Callable[..., Awaitable[Response]])
V1: Final = "/api/v1"
ANY: Final = "any"
"""Any authenticated caller: a login, or a token with any scopes."""
OF_EVERY_PROJECT: Final = (
    *("tokens:", "settings:", "approvals:", "changes:"),
    *("memories:write", "reviews:write"),
)
"""The scopes of which each route is over all projects."""


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
    about: str = "",
    across: bool = False,
    check: Callable[[Request], Awaitable[None]] | None = None,
    **more: Any,
) -> Callable[[ParameterHandler], ParameterHandler]:
    """Declare the route that a handler answers; its docstring's first paragraph is `about`.

    The arguments `query` and `body` of a handler are read by their annotated shapes, after the
    `check` of the request. A shape that is given here instead only describes what the handler reads
    itself.
    """

    def declare(handler: ParameterHandler) -> ParameterHandler:
        forms = {
            name: form
            for name, form in handler.__annotations__.items()
            if name in ("query", "body")
        }
        status = 204 if method == "DELETE" and gives is None else 200
        op = Operation(
            method=method,
            path=below + path,
            scope=scope,
            ask=_read_parameters(handler, check, **forms),
            about=about or first_paragraph(handler),
            gives=gives,
            across=across or (scope or "").startswith(OF_EVERY_PROJECT),
            **{"status": status, **forms, **more},
        )
        _DECLARED.setdefault(handler.__module__, []).append(op)
        return handler

    return declare


def _read_parameters(
    handler: ParameterHandler,
    check: Callable[[Request], Awaitable[None]] | None,
    query: type[msgspec.Struct] | None = None,
    body: type[msgspec.Struct] | None = None,
) -> Handler:
    """Return a handler that checks a request, and reads its query and body for another one."""

    @wraps(handler)
    async def ask(request: Request) -> Response:
        values: dict[str, Any] = {}
        if check:
            await check(request)
        if query:
            values["query"] = params.query(request, query)
        if body:
            values["body"] = await params.body(request, body)
        return await handler(request, **values)

    return ask


def declared(module: ModuleType) -> list[Operation]:
    """Return the operations that a module declares, in its order."""
    return _DECLARED[module.__name__]
