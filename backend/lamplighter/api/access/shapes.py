"""Responses about callers and tokens."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import Name, page_of, public_shape
from lamplighter.domain.access.access import MAX_DAYS, MAX_NAME_CHARS, Device, Login, Token
from lamplighter.domain.access.device import MAX_ENDPOINT_CHARS, MAX_KEY_CHARS


class CallerOut(Struct):
    """The identity and scopes of the caller."""

    kind: Literal["login", "token", "session"]
    name: str
    scopes: list[str]


@public_shape(Token)
class TokenOut(Struct):
    """A token, without its secret."""


TokenPage = page_of(TokenOut, "A page of tokens, newest first.")


class TokenIn(Struct):
    """A new token; without `days` the token never expires.

    With an `agent` the token identifies that agent.
    """

    scopes: Annotated[list[Name], Meta(min_length=1, max_length=50)]
    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    days: Annotated[int, Meta(ge=1, le=MAX_DAYS)] | None = None
    agent: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class NewTokenOut(TokenOut):
    """A new token; `token` is its text, which is returned only once."""

    token: str


@public_shape(Login, id=("browser", str))
class LoginOut(Struct):
    """The login of a browser; `own` is that of the caller."""

    own: bool


class LoginList(Struct):
    """The active logins, the last used first."""

    logins: list[LoginOut]


class EndedLogins(Struct):
    """How many logins ended."""

    ended: int


@public_shape(Device)
class DeviceOut(Struct):
    """A browser that receives notifications; `problem` is why the last one did not arrive."""


class DeviceList(Struct):
    """The subscribed devices, at most 50; `key` is the public key that browsers subscribe with."""

    key: str
    devices: list[DeviceOut]


class SubscriptionKeys(Struct):
    """The keys that messages to a browser are encrypted with, in base64url."""

    p256dh: Annotated[str, Meta(max_length=MAX_KEY_CHARS)]
    auth: Annotated[str, Meta(max_length=MAX_KEY_CHARS)]


class DeviceIn(Struct):
    """A push subscription of this browser, as its `toJSON` returns it.

    `replaces` is the previous endpoint of the subscription: the device keeps its number.
    """

    endpoint: Annotated[str, Meta(max_length=MAX_ENDPOINT_CHARS)]
    keys: SubscriptionKeys
    replaces: Annotated[str, Meta(max_length=MAX_ENDPOINT_CHARS)] | None = None
