"""Shapes of entities, made of the declarations of their fields."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lamplighter.domain.fields import DeclaredField


def public_shape(
    name: str, about: str, fields: Mapping[str, DeclaredField], **sometimes: Any
) -> type[Struct]:
    """Return the shape of an entity's JSON; `sometimes` are the types of what may be absent."""
    always = [(each.name, _json_type(each)) for each in fields.values() if each.declared.public]
    extra = [(key, kind | UnsetType, UNSET) for key, kind in sometimes.items()]
    return msgspec.defstruct(name, [*always, *extra], namespace={"__doc__": about})


def _json_type(field: DeclaredField) -> Any:
    kind: Any = field.value_type
    if field.declared.options:
        kind = Literal[field.declared.options]
    elif kind is datetime:
        kind = str
    elif kind is tuple:
        kind = list[str]
    return kind | None if field.nullable else kind
