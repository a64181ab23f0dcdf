"""The tools by which a session acts: through the gate, or by handing a service on."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.formats.session_tools import HANDOFF, RUN_ACTION
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.sessions.toolbox import Tool, ToolOutput, make_tool

_DONE = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED, UseOutcome.WOULD)


def run_action(context: ToolContext) -> Tool:
    """Return the tool that runs a declared action; the gate bounds its time."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        verdict = await context.gate.run_action(
            given["service"], given["action"], again=given.get("again"), reason=given["reason"]
        )
        words = f"{verdict.heading.capitalize()}: {verdict.text}."
        if verdict.use_id is not None and verdict.ran:
            words += f" Use {verdict.use_id} of its cooldown, attempt {verdict.attempts}."
        found = {
            "outcome": verdict.outcome.value,
            "words": verdict.text,
            "use": verdict.use_id,
            "attempts": verdict.attempts,
            "exit_code": verdict.exit_code,
        }
        return ToolOutput(text=words, is_error=verdict.outcome not in _DONE, structured=found)

    return make_tool(RUN_ACTION, use, seconds=None)


def handoff(context: ToolContext) -> Tool:
    """Return the tool that hands a service on."""

    async def use(given: Mapping[str, Any]) -> ToolOutput:
        ingest = context.ingest()
        name = given["service"]
        service = (
            GENERAL if normalize_service_name(name) == GENERAL else context.declared(name).name
        )
        return await tool_reports.escalate(ingest, service, given["reason"])

    return make_tool(HANDOFF, use)
