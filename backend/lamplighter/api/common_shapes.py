"""The kinds of values that several shapes share, and shapes made of declared fields."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from lamplighter.domain.fields import DeclaredField
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import ActionKind

Limit = Annotated[int, Meta(ge=1, le=200)]
Name = Annotated[str, Meta(max_length=200)]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
ShortText = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")]
Tier = Annotated[int, Meta(ge=1, le=3)]


class Problem(Struct):
    """An error, in the format of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]]
    current: dict[str, Any] | UnsetType = UNSET


class PageQuery(Struct):
    """The cursor and the page size."""

    cursor: str | None = None
    limit: Limit = 50


class Empty(Struct):
    """An empty object."""


class NoParameters(Struct):
    """No parameters."""


class FileProblemOut(Struct):
    """A mistake in a file, and its place."""

    path: str
    line: int
    column: int
    message: str


class SlotOut(Struct):
    """The usage of one cooldown of a service; `frees_at` if no slot is free."""

    action: ActionKind
    used: int
    limit: int
    window_seconds: int
    frees_at: str | None


class UseOut(Struct):
    """One use of a cooldown, or its refusal."""

    id: int
    service: str
    action: ActionKind
    name: str
    outcome: UseOutcome
    text: str
    attempts: int
    session_id: int | None
    tier: int
    healthy_after: float | None
    counts: bool
    created_at: str
    settled_at: str | None
    cleared_at: str | None
    cleared_by: Literal["healthy", "operator"] | None
    version: int


def public_shape(
    name: str, about: str, fields: Mapping[str, DeclaredField], **sometimes: Any
) -> type[Struct]:
    """Return the shape of an entity's JSON; `sometimes` are the types of what may be absent."""
    always = [(each.name, _json_type(each)) for each in fields.values() if each.declared.public]
    extra = [(key, kind | UnsetType, UNSET) for key, kind in sometimes.items()]
    return defstruct(name, [*always, *extra], namespace={"__doc__": about})


def history_shape(
    name: str, about: str, fields: Mapping[str, DeclaredField], always: Collection[str]
) -> type[Struct]:
    """Return the shape of what a history keeps of an entity; only `always` is in each entry."""
    kept = [each for each in fields.values() if each.declared.history]
    required = [(each.name, _json_type(each)) for each in kept if each.name in always]
    later = [
        (each.name, _json_type(each) | UnsetType, UNSET) for each in kept if each.name not in always
    ]
    return defstruct(name, [*required, *later], namespace={"__doc__": about})


def _json_type(field: DeclaredField) -> Any:
    kind: Any = field.value_type
    if field.declared.options:
        kind = Literal[field.declared.options]
    elif kind is datetime:
        kind = str
    elif kind is tuple:
        kind = list[str]
    return kind | None if field.nullable else kind
