"""Tokens: listed without their secrets, made, and revoked."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import shapes
from lamplighter.api.access.callers import caller_of
from lamplighter.api.access.login import recheck_streams
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.access.access import covers, validate_scopes, validate_token_name
from lamplighter.domain.clients.agent import validate_agent_name
from lamplighter.domain.errors import InvalidField, collect_errors
from lamplighter.formats import serialize
from lamplighter.repository.access import tokens
from lamplighter.repository.store import changes
from lamplighter.usecases.access import access


@operation("GET", "/tokens", "tokens:read", shapes.TokenPage)
async def index(request: Request, query: common_shapes.PageQuery) -> Response:
    """List tokens."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await tokens.page(here.db, limit=query.limit, position=position)
    return page(request, [serialize.token(token) for token in found.items], found.position, seq)


@operation("POST", "/tokens", "tokens:write", shapes.NewTokenOut, status=201, body=shapes.TokenIn)
async def create(request: Request) -> Response:
    """Create a token.

    No caller can grant scopes that it does not hold.
    """
    here, body = api_context(request), await params.body(request, shapes.TokenIn, _rules)
    scopes = validate_scopes(body.scopes)
    if not covers(caller_of(request).scopes, scopes):
        raise HTTPException(
            403,
            "A token cannot have more scopes than its creator. Remove the scopes that you do "
            "not have.",
        )
    token, words = await access.mint(
        here.db, body.name, scopes, days=body.days, agent=body.agent, now=here.now()
    )
    return answer({**serialize.token(token), "token": words}, 201)


@operation("DELETE", "/tokens/{id:int}", "tokens:write", None)
async def revoke(request: Request) -> Response:
    """Revoke a token."""
    here = api_context(request)
    await access.revoke(here.db, params.number(request), now=here.now())
    recheck_streams(request)
    return Response(status_code=204)


def _rules(values: Mapping[str, Any]) -> list[InvalidField]:
    wrong = collect_errors(lambda: validate_scopes(values["scopes"])) if "scopes" in values else []
    if isinstance(agent := values.get("agent"), str):
        wrong += collect_errors(lambda: validate_agent_name(agent))
    return wrong + collect_errors(lambda: validate_token_name(values.get("name", "")))
