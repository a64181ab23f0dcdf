"""What an interactive agent's hooks are answered."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from lamplighter.api.shapes.agents import LeftOut
from lamplighter.api.shapes.memories import Memory


class HookOutput(Struct, rename="camel"):
    """What the agent is told, in Claude Code's form."""

    hook_event_name: str
    additional_context: str


class HookAnswer(Struct, rename="camel"):
    """The answer to a hook: nothing, or what the agent is told."""

    hook_specific_output: HookOutput | UnsetType = UNSET


class ToldOfProject(Struct):
    """A memory that an interactive session is told at its start, and its line."""

    position: int
    line: str
    memory: Memory


class ProjectContext(Struct):
    """What an interactive session is told at its start, and why each memory is in or out."""

    profile: Literal["project"]
    project: str
    text: str
    tokens: int
    included: list[ToldOfProject]
    excluded: list[LeftOut]
    seq: int
