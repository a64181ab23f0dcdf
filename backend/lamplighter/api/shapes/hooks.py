"""What an interactive agent's hooks are answered."""

from msgspec import UNSET, Struct, UnsetType


class HookOutput(Struct, rename="camel"):
    """What the agent is told, in Claude Code's form."""

    hook_event_name: str
    additional_context: str


class HookAnswer(Struct, rename="camel"):
    """The answer to a hook: nothing, or what the agent is told."""

    hook_specific_output: HookOutput | UnsetType = UNSET
