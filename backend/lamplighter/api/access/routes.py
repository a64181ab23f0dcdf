"""Logins and tokens."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.access import login, shapes, tokens
from lamplighter.api.op import ANY, op

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
)
