"""Logins and tokens."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.access import devices, login, shapes, tokens
from lamplighter.api.op import ANY, op
from lamplighter.domain.access.access import ADMIN

OPS: Final = (
    op(
        "GET",
        "/login",
        ANY,
        login.show_identity,
        "Read the identity of the caller.",
        shapes.CallerOut,
    ),
    op("DELETE", "/login", ANY, login.log_out, "Log out.", None, status=204, problems=(409,)),
    op(
        "GET",
        "/tokens",
        "tokens:read",
        tokens.index,
        "List tokens.",
        shapes.TokenPage,
        query=common_shapes.PageQuery,
    ),
    op(
        "POST",
        "/tokens",
        "tokens:write",
        tokens.create,
        "Create a token.",
        shapes.NewTokenOut,
        status=201,
        body=shapes.TokenIn,
    ),
    op(
        "DELETE",
        "/tokens/{id:int}",
        "tokens:write",
        tokens.revoke,
        "Revoke a token.",
        None,
        status=204,
        problems=(404,),
    ),
    op(
        "GET",
        "/devices",
        ADMIN,
        devices.index,
        "List the devices that receive notifications.",
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
        "Subscribe this browser to notifications.",
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
        "Remove a device: it receives no more notifications.",
        None,
        status=204,
        problems=(404,),
        person=True,
    ),
)
