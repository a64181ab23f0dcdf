"""The declaration of a tool: a class for its input, and one decorator for the rest."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum
from inspect import cleandoc
from typing import Any, ClassVar, Final, TypeVar

from msgspec import Meta, Struct, json, structs

from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.sessions.session import TIERS

LARGEST: Final = 2**53 - 1
"""The largest whole number that every client can write."""

TOOL_SECONDS: Final = 30.0

Schema = Mapping[str, Any]

_KEYS: Final = (
    *("type", "description", "minLength", "maxLength", "minimum", "maximum"),
    *("items", "maxItems", "enum"),
)
"""The keywords of JSON Schema that are used, in their order."""


class Audience(Enum):
    """The users of a tool: sessions of the supervisor, or clients of the MCP server."""

    SESSION = "session"
    CLIENT = "client"


class ToolInput(Struct):
    """The input of a tool. The docstring of each class describes its tool to people and models."""

    audience: ClassVar[Audience]
    example: ClassVar[Mapping[str, Any]] = {}
    tool: ClassVar["ToolDefinition"]


Input = TypeVar("Input", bound=ToolInput)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHints:
    """Hints for a client before it calls the tool.

    `read_only`: no call writes a row, not even a record of the read. `destructive`: a call can end
    something, or replace a text without history. `idempotent`: the same call again writes nothing
    more. `open_world`: it reaches systems outside of Lamplighter.
    """

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


READS: Final = ToolHints(read_only=True, idempotent=True)
RECORDS: Final = ToolHints()


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool of one audience; it is ended after `seconds`, None if it limits itself.

    For sessions: `tiers` have it, with `reads` only if files may be read, with `commands` only if
    commands may run; `names_service` if it names a service without checking it. For clients:
    `scope` is the scope of the token, `switch` the setting of an agent that has to be on; `remote`
    if a remote memory service has it too, `opens_session` if it manages the session of the client.
    """

    name: str
    title: str
    hints: ToolHints
    _: KW_ONLY
    seconds: float | None = TOOL_SECONDS
    tiers: tuple[int, ...] = tuple(TIERS)
    reads: bool = False
    commands: bool = False
    names_service: bool = False
    scope: str = "knowledge:read"
    switch: Callable[[Agent], bool] | None = None
    remote: bool = False
    opens_session: bool = False
    input_type: type[ToolInput] = ToolInput
    about: str = ""
    schema: Schema = field(default_factory=dict)

    def __call__(self, input_type: type[Input]) -> type[Input]:
        """Declare the tool with this input."""
        about = " ".join(cleandoc(input_type.__doc__ or "").split())
        schema = {
            "type": "object",
            "properties": input_properties(input_type),
            "required": [each.name for each in structs.fields(input_type) if each.required],
            "additionalProperties": False,
            "examples": [input_type.example],
        }
        input_type.tool = replace(self, input_type=input_type, about=about, schema=schema)
        return input_type


def input_properties(input_type: type[ToolInput]) -> dict[str, Schema]:
    """Return the JSON Schema of each field of an input."""
    _, found = json.schema_components([input_type])
    return {
        name: _property(each) for name, each in found[input_type.__name__]["properties"].items()
    }


def _property(each: Schema) -> Schema:
    each = each.get("anyOf", [each])[0]  # msgspec makes an optional field nullable
    return {key: each[key] for key in _KEYS if key in each}


def text(about: str, most: int, *, of: Iterable[str] | None = None) -> Meta:
    """Describe a text that may not be empty, or must be one `of` some words."""
    more = None if of is None else {"enum": [str(each) for each in of]}
    return Meta(description=about, min_length=1, max_length=most, extra_json_schema=more)


def number(about: str, least: int, most: int) -> Meta:
    """Describe a whole number."""
    return Meta(description=about, ge=least, le=most)
