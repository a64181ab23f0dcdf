"""The kinds of values that several shapes share, and shapes made of declared fields."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from lamplighter.domain.fields import DeclaredField, declared_fields
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.service import ActionKind

S = TypeVar("S", bound=Struct)

Limit = Annotated[int, Meta(ge=1, le=200)]
RowId = Annotated[int, Meta(ge=1, le=2**63 - 1)]
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


class ListPage(Struct):
    """A page of a list: its items, the cursor behind them, and the number of the newest change."""

    items: list[Any]
    next: str | None
    seq: int


def page_of(item: type[Struct], about: str, *, name: str = "", **more: Any) -> type[Struct]:
    """Return the shape of a page of items, with the name of their shape unless it has another.

    `more` are the types of further fields.
    """
    return defstruct(
        name or f"{item.__name__.removesuffix('Out')}Page",
        [("items", list[item]), *more.items()],  # type: ignore[valid-type]
        bases=(ListPage,),
        namespace={"__doc__": about, "__module__": item.__module__},
    )


class OptionalBody(Struct):
    """A body that may be omitted, together with its content type."""


class Empty(OptionalBody):
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


def public_shape(
    entity: type[Any],
    inline: Collection[str] = (),
    *,
    without: Collection[str] = (),
    **behind: tuple[Any, ...],
) -> Callable[[type[S]], type[S]]:
    """Add the public fields of an entity to a shape, after its own fields.

    `inline` names the fields whose values are listed in place instead of as a named enumeration.
    Fields in `without` are left out. `behind` maps a field to the further fields that follow it, as
    `defstruct` takes them.
    """
    fields: list[tuple[Any, ...]] = []
    for each in declared_fields(entity).values():
        if each.declared.public and each.name not in without:
            fields.append((each.declared.json or each.name, _json_type(each, each.name in inline)))
        if each.name in behind:
            fields.append(behind[each.name])
    return lambda shape: _with_fields(shape, fields)


def history_shape(entity: type[Any], always: Collection[str]) -> Callable[[type[S]], type[S]]:
    """Add the history fields of an entity to a shape; only `always` is in each entry."""
    kept = [each for each in declared_fields(entity).values() if each.declared.history]
    required = [(each.name, _json_type(each)) for each in kept if each.name in always]
    later = [
        (each.name, _json_type(each) | UnsetType, UNSET) for each in kept if each.name not in always
    ]
    return lambda shape: _with_fields(shape, [*required, *later])


def _with_fields(shape: type[S], fields: Sequence[Any]) -> Any:
    about = {"__doc__": shape.__doc__, "__module__": shape.__module__}
    own = bool(shape.__struct_fields__)
    return defstruct(shape.__name__, fields, bases=(shape,), namespace=about, kw_only=own)


def _json_type(field: DeclaredField, inline: bool = False) -> Any:
    kind: Any = field.value_type
    options = tuple(map(str, field.choices)) if inline and field.choices else field.declared.options
    if options:
        kind = Literal[options]
    elif kind is datetime:
        kind = str
    elif kind is tuple:
        kind = list[field.item_type]  # type: ignore[name-defined]
    elif kind is Mapping:
        kind = dict[str, field.item_type]  # type: ignore[name-defined]
    elif kind is dict:
        kind = dict[str, Any]
    return kind | None if field.nullable else kind


@public_shape(CooldownUse, healthy_after=("counts", bool))
class UseOut(Struct):
    """One use of a cooldown, or its refusal."""
