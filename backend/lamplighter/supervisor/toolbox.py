"""The tools of a session: the same for every engine, whatever door they are reached by."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lamplighter.supervisor.gate import Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answers: words for a model, and the same as `found` for a program."""

    text: str
    is_error: bool = False
    found: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: its name, what it is for, the JSON Schema of what it takes, and what it does."""

    name: str
    about: str
    schema: Mapping[str, Any]
    use: Callable[[Mapping[str, Any]], Awaitable[Answer]]


Tell = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Says what a session is told now, given what it is about."""


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """The tools that one session has, and what tells it anew what is remembered."""

    gate: Gate
    tools: tuple[Tool, ...] = field(default=())
    tell: Tell | None = None

    async def use(self, name: str, given: Mapping[str, Any]) -> Answer:
        """Use a tool by its name; what goes wrong is an answer, never an exception."""
        found = next((each for each in self.tools if each.name == name), None)
        if found is None:
            known = ", ".join(each.name for each in self.tools) or "none"
            return Answer(text=f"There is no tool {name!r}; there are: {known}.", is_error=True)
        return await found.use(given)
