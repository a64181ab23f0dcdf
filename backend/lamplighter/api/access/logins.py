"""Logins: the browsers of people, listed and ended."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import shapes
from lamplighter.api.access.callers import caller_of
from lamplighter.api.access.login import recheck_streams
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.formats.logins import serialize_login
from lamplighter.repository.access import logins
from lamplighter.usecases.access import logins as usecase


@operation("GET", "/logins", "tokens:read", shapes.LoginList)
async def index(request: Request, query: common_shapes.NoParameters) -> Response:
    """List the active logins."""
    here, own = api_context(request), _own(request)
    found = await logins.list_active(here.db, now=here.now())
    return answer({"logins": [{"own": each.id == own, **serialize_login(each)} for each in found]})


@operation("DELETE", "/logins", "tokens:write", shapes.EndedLogins)
async def end_others(request: Request) -> Response:
    """End every login except the caller's own."""
    here = api_context(request)
    ended = await usecase.end_others(here.db, but=_own(request), now=here.now())
    recheck_streams(request)
    return answer({"ended": ended})


@operation("DELETE", "/logins/{id:int}", "tokens:write", None)
async def end(request: Request) -> Response:
    """End a login."""
    here = api_context(request)
    await usecase.end(here.db, params.number(request), now=here.now())
    recheck_streams(request)
    return Response(status_code=204)


def _own(request: Request) -> int | None:
    """Return the number of the caller's login; None of a token."""
    caller = caller_of(request)
    return caller.id if caller.kind == "login" else None
