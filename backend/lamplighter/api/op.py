"""One entry of the route table."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Awaitable[Response]]
V1: Final = "/api/v1"
ANY: Final = "any"
"""Any authenticated caller: a login, or a token with any scopes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A route: its method, path, required scope, handler, parameters and responses.

    `scope` None admits everybody. `or_gives` lists the other response types. `across`
    marks a route over all projects: callers that are bound to one project are refused.
    `person` admits only the login of a person, whatever scopes a token has.
    `deprecated_path` is an earlier path that still works.
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
    person: bool = False
    media: str = "application/json"
    deprecated_path: str | None = None
    deprecated: bool = False

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


def op(
    method: str,
    path: str,
    scope: str,
    handler: Handler,
    gives: type[msgspec.Struct] | None,
    **more: Any,
) -> Operation:
    """Return an entry below /api/v1; the first paragraph of the handler says what it is about."""
    about = cleandoc(handler.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return Operation(
        method=method, path=V1 + path, scope=scope, ask=handler, about=about, gives=gives, **more
    )
