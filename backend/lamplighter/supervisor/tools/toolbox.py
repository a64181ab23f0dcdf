"""The toolbox: the tools of one session beside its gate, the same for every engine."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lamplighter import telemetry
from lamplighter.domain.errors import LeadershipLost
from lamplighter.formats.tools.definition import RECORDS
from lamplighter.repository.store.driver import Error
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.usecases.sessions.toolbox import (
    Tool,
    ToolOutput,
    find_tool,
    redact_answer,
    run_tool,
    unknown_tool,
)

logger = logging.getLogger(__name__)

AT_ONCE: Final = 8

Recall = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Returns memories about a tool's arguments, as text beside the result; empty for none."""

UpdatePrompt = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Returns the current memories for a session's prompt, for a query."""


@dataclass(slots=True, kw_only=True)
class Toolbox:
    """The tools of one session, with callbacks to recall memories and to update its prompt."""

    gate: Gate
    tools: tuple[Tool, ...] = field(default=())
    recall: Recall | None = None
    update_prompt: UpdatePrompt | None = None
    _trace: Mapping[str, str] = field(default_factory=telemetry.traceparent)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    def __post_init__(self) -> None:
        if self.recall is not None:  # recall records results, even for read-only tools
            self.tools = tuple(
                replace(each, hints=RECORDS) if each.hints.read_only else each
                for each in self.tools
            )

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Use a tool by its name; failures are answers, never exceptions."""
        tool = find_tool(self.tools, name)
        if tool is None:
            return redact_answer(unknown_tool(self.tools, name), self.gate.here.redact)
        self.gate.using += 1
        try:
            async with self._turns:
                known = await self._look_up_memories(name, arguments)
                with telemetry.about(session=self.gate.session.id):
                    answer = await run_tool(tool, arguments, self._trace)
        finally:
            self.gate.using -= 1
        output = replace(answer, text=f"{answer.text}\n\n{known}") if known else answer
        return redact_answer(output, self.gate.here.redact)

    async def _look_up_memories(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Look up memories before a tool is used; a tool never waits for the database."""
        if self.recall is None:
            return ""
        try:
            return await self.recall(name, arguments)
        except (Error, LeadershipLost) as error:
            logger.warning("Memories for %s could not be looked up: %s", name, error)
            return ""
