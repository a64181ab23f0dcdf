"""The tools by which a session acts: through the gate, or by handing a service on."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.services.cooldown import Outcome
from lamplighter.domain.services.service import GENERAL, fold
from lamplighter.formats.session_tools import HANDOFF, RUN_ACTION
from lamplighter.supervisor.tools.context import Bench
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.sessions.toolbox import Answer, Tool, tool

_DONE = (Outcome.SUCCESS, Outcome.UNCONFIRMED, Outcome.WOULD)


def run_action(bench: Bench) -> Tool:
    """Return the tool that runs a declared action; the gate bounds its time."""

    async def use(given: Mapping[str, Any]) -> Answer:
        verdict = await bench.gate.run_action(
            given["service"], given["action"], again=given.get("again"), reason=given["reason"]
        )
        words = f"{verdict.heading.capitalize()}: {verdict.words}."
        if verdict.use_id is not None and verdict.ran:
            words += f" Use {verdict.use_id} of its cooldown, attempt {verdict.attempts}."
        found = {
            "outcome": verdict.outcome.value,
            "words": verdict.words,
            "use": verdict.use_id,
            "attempts": verdict.attempts,
            "exit_code": verdict.exit_code,
        }
        return Answer(text=words, is_error=verdict.outcome not in _DONE, found=found)

    return tool(RUN_ACTION, use, seconds=None)


def handoff(bench: Bench) -> Tool:
    """Return the tool that hands a service on."""

    async def use(given: Mapping[str, Any]) -> Answer:
        taking = bench.taking()
        name = given["service"]
        service = GENERAL if fold(name) == GENERAL else bench.declared(name).name
        return await tool_reports.hand_on(taking, service, given["reason"], now=bench.gate.now())

    return tool(HANDOFF, use)
