"""One entry of the route table."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
    """One thing that can be asked: how, where, by whom, with what, and what comes back.

    `scope` is what a caller must hold; None lets everybody in. `or_gives` is what comes
    back where it is asked for otherwise. What tells of or changes every project is
    `across`: not for who is bound to one.
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


def op(
    method: str,
    path: str,
    scope: str,
    ask: Handler,
    about: str,
    gives: type[msgspec.Struct] | None,
    **more: Any,
) -> Operation:
    """Return an entry below /api/v1."""
    return Operation(
        method=method, path=V1 + path, scope=scope, ask=ask, about=about, gives=gives, **more
    )
