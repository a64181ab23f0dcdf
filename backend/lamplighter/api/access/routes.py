"""Logins and tokens."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.access import devices, login, shapes, tokens
from lamplighter.api.op import ANY, op
from lamplighter.domain.access.access import ADMIN

OPS: Final = (
    op("GET", "/login", ANY, login.show_identity, shapes.CallerOut),
    op("DELETE", "/login", ANY, login.log_out, None, status=204, problems=(409,)),
    op(
        "GET",
        "/tokens",
        "tokens:read",
        tokens.index,
        shapes.TokenPage,
        query=common_shapes.PageQuery,
    ),
    op(
        "POST",
        "/tokens",
        "tokens:write",
        tokens.create,
        shapes.NewTokenOut,
        status=201,
        body=shapes.TokenIn,
    ),
    op(
        "DELETE",
        "/tokens/{id:int}",
        "tokens:write",
        tokens.revoke,
        None,
        status=204,
        problems=(404,),
    ),
    op(
        "GET",
        "/devices",
        ADMIN,
        devices.index,
        shapes.DeviceList,
        query=common_shapes.NoParameters,
        problems=(503,),
        person=True,
    ),
    op(
        "POST",
        "/devices",
        ADMIN,
        devices.subscribe,
        shapes.DeviceOut,
        status=201,
        body=shapes.DeviceIn,
        problems=(409, 503),
        person=True,
    ),
    op(
        "DELETE",
        "/devices/{id:int}",
        ADMIN,
        devices.remove,
        None,
        status=204,
        problems=(404,),
        person=True,
    ),
)
