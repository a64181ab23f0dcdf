"""Declarations of an entity's fields, read once at import.

An entity is a frozen dataclass. A field declares its uses in an `Annotated` type; its column, its
JSON, its history and its undo follow from that.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from dataclasses import Field as DataclassField
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Final, NewType, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The uses of a field beyond storage.

    `history`: each history entry includes the field, for earlier states and undo. `undo`: it can be
    undone separately; the text is its name for a person. `editable`: a person may change it.
    `public`: it is part of the JSON of the entity. `options`: the only values of a text.
    `constant`: an update does not change it; it is set once, or counted by separate statements.
    `json`, `column`: its name there, if different. `stored`: it has a column.
    """

    history: bool = False
    undo: str = ""
    editable: bool = False
    public: bool = True
    options: tuple[str, ...] = ()
    constant: bool = False
    json: str = ""
    column: str = ""
    stored: bool = True


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A field of an entity: its name, the type of its value, and its declaration.

    `item_type` is the type of each value of a tuple or a mapping.
    """

    name: str
    value_type: type[Any]
    nullable: bool
    default: Any
    declared: Field
    item_type: type[Any] = str

    @property
    def column(self) -> str:
        """The name of its column."""
        return self.declared.column or self.name

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def choices(self) -> type[StrEnum] | None:
        """The enumeration of its values, if there is one."""
        return self.value_type if issubclass(self.value_type, StrEnum) else None


def declared_fields(entity: type[Any]) -> Mapping[str, DeclaredField]:
    """Return the fields of an entity by name, in the order of their declaration."""
    hints = get_type_hints(entity, include_extras=True)
    return {
        each.name: _declared(each.name, hints[each.name], _default(each)) for each in fields(entity)
    }


_UNDECLARED: Final = Field()


def _default(field: DataclassField[Any]) -> Any:
    made = field.default_factory
    return field.default if made is MISSING else made()


def _declared(name: str, hint: Any, default: Any) -> DeclaredField:
    declared = _UNDECLARED
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        declared = next((each for each in extras if isinstance(each, Field)), _UNDECLARED)
    nullable = False
    if isinstance(hint, UnionType):
        nullable = True
        (hint,) = [each for each in get_args(hint) if each is not type(None)]
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    kind, items = get_origin(hint) or hint, get_args(hint) or (str,)
    item = items[-1] if kind is Mapping else items[0]
    return DeclaredField(name, kind, nullable, default, declared, item)
