"""The tools of a session: the same for every engine, whatever door they are reached by."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lamplighter.domain.errors import Deposed
from lamplighter.repository.driver import Error
from lamplighter.supervisor.gate import Gate

logger = logging.getLogger(__name__)


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


Recall = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Says what we know of a tool's arguments, as words beside its answer; empty for nothing."""

Tell = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Says what a session is told now, given what it is about."""


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """The tools that one session has, and what tells it anew what is remembered."""

    gate: Gate
    tools: tuple[Tool, ...] = field(default=())
    recall: Recall | None = None
    tell: Tell | None = None

    async def use(self, name: str, given: Mapping[str, Any]) -> Answer:
        """Use a tool by its name; what goes wrong is an answer, never an exception."""
        found = next((each for each in self.tools if each.name == name), None)
        if found is None:
            names = ", ".join(each.name for each in self.tools) or "none"
            return Answer(text=f"There is no tool {name!r}; there are: {names}.", is_error=True)
        known = await self._known(name, given)
        answer = await found.use(given)
        return replace(answer, text=f"{answer.text}\n\n{known}") if known else answer

    async def _known(self, name: str, given: Mapping[str, Any]) -> str:
        """Look up what is known before a tool is used; a tool waits for no database."""
        if self.recall is None:
            return ""
        try:
            return await self.recall(name, given)
        except (Error, Deposed) as error:
            logger.warning("Nothing could be looked up for %s: %s", name, error)
            return ""
