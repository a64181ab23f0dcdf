"""What gives access: tokens and logins; and the devices that receive notifications."""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access import shapes
from lamplighter.api.access.login import recheck_streams
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.responses import page
from lamplighter.domain.access.access import (
    ADMIN,
    Caller,
    covers,
    describe_browser,
    validate_scopes,
    validate_token_name,
)
from lamplighter.domain.access.device import Subscription
from lamplighter.domain.clients.agent import validate_agent_name
from lamplighter.domain.errors import InvalidField, collect_errors
from lamplighter.formats import serialize
from lamplighter.formats.logins import serialize_login
from lamplighter.repository.access import devices as stored_devices
from lamplighter.repository.access import logins, tokens
from lamplighter.repository.store import changes
from lamplighter.usecases.access import access, devices


@operation("GET", "/logins", "tokens:read", shapes.LoginList)
async def list_logins(
    here: ApiContext, caller: Caller, query: common_shapes.NoParameters
) -> dict[str, Any]:
    """List the active logins."""
    own = _own_login(caller)
    found = await logins.list_active(here.db, now=here.now())
    return {"logins": [{"own": each.id == own, **serialize_login(each)} for each in found]}


@operation("DELETE", "/logins", "tokens:write", shapes.EndedLogins)
async def end_other_logins(request: Request, here: ApiContext, caller: Caller) -> dict[str, Any]:
    """End every login except the caller's own."""
    ended = await access.end_other_logins(here.db, but=_own_login(caller), now=here.now())
    recheck_streams(request)
    return {"ended": ended}


@operation("DELETE", "/logins/{id:int}", "tokens:write", None)
async def end_login(request: Request, here: ApiContext, number: int) -> None:
    """End a login."""
    await access.end_login(here.db, number, now=here.now())
    recheck_streams(request)


@operation("GET", "/tokens", "tokens:read", shapes.TokenPage)
async def list_tokens(
    request: Request, here: ApiContext, query: common_shapes.PageQuery
) -> Response:
    """List tokens."""
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await tokens.page(here.db, limit=query.limit, position=position)
    return page(request, [serialize.token(token) for token in found.items], found.position, seq)


def _rules(values: Mapping[str, Any]) -> list[InvalidField]:
    wrong = collect_errors(lambda: validate_scopes(values["scopes"])) if "scopes" in values else []
    if isinstance(agent := values.get("agent"), str):
        wrong += collect_errors(lambda: validate_agent_name(agent))
    return wrong + collect_errors(lambda: validate_token_name(values.get("name", "")))


@operation("POST", "/tokens", "tokens:write", shapes.NewTokenOut, status=201, rules=_rules)
async def create_token(here: ApiContext, caller: Caller, body: shapes.TokenIn) -> dict[str, Any]:
    """Create a token.

    No caller can grant scopes that it does not hold.
    """
    scopes = validate_scopes(body.scopes)
    if not covers(caller.scopes, scopes):
        raise HTTPException(
            403,
            "A token cannot have more scopes than its creator. Remove the scopes that you do "
            "not have.",
        )
    token, words = await access.mint(
        here.db, body.name, scopes, days=body.days, agent=body.agent, now=here.now()
    )
    return {**serialize.token(token), "token": words}


@operation("DELETE", "/tokens/{id:int}", "tokens:write", None)
async def revoke_token(request: Request, here: ApiContext, number: int) -> None:
    """Revoke a token."""
    await access.revoke(here.db, number, now=here.now())
    recheck_streams(request)


@operation("GET", "/devices", ADMIN, shapes.DeviceList, problems=(503,))
async def list_devices(here: ApiContext, query: common_shapes.NoParameters) -> dict[str, Any]:
    """List the devices that receive notifications."""
    found = await stored_devices.list_all(here.db)
    return {"key": here.device_key(), "devices": [serialize.device(each) for each in found]}


@operation("POST", "/devices", ADMIN, shapes.DeviceOut, status=201, problems=(409, 503))
async def subscribe(
    request: Request, here: ApiContext, caller: Caller, body: shapes.DeviceIn
) -> dict[str, Any]:
    """Subscribe this browser to notifications."""
    device = await devices.subscribe(
        here.db,
        subscription=Subscription(body.endpoint, body.keys.p256dh, body.keys.auth, body.replaces),
        key=here.device_key(),
        name=describe_browser(request.headers.get("user-agent", "")),
        login_id=caller.id,
        now=here.now(),
    )
    return serialize.device(device)


@operation("DELETE", "/devices/{id:int}", ADMIN, None)
async def remove_device(here: ApiContext, number: int) -> None:
    """Remove a device: it receives no more notifications."""
    await devices.remove(here.db, number, now=here.now())


def _own_login(caller: Caller) -> int | None:
    return caller.id if caller.kind == "login" else None
