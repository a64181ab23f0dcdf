"""Tools by which a session acts: through the gate, or by escalating a service."""

from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.formats.tools.table import EscalateService, RunAction
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

_DONE = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED, UseOutcome.WOULD)


@implements(RunAction)
async def run_action(context: ToolContext, arguments: RunAction) -> ToolOutput:
    """Run a declared action; the gate bounds its time."""
    verdict = await context.gate.run_action(
        arguments.service, arguments.action, again=arguments.again, reason=arguments.reason
    )
    text = f"{verdict.heading.capitalize()}: {verdict.text}."
    if verdict.use_id is not None and verdict.ran:
        text += f" Use {verdict.use_id} of its cooldown, attempt {verdict.attempts}."
    values = {
        "outcome": verdict.outcome.value,
        "words": verdict.text,
        "use": verdict.use_id,
        "attempts": verdict.attempts,
        "exit_code": verdict.exit_code,
    }
    return ToolOutput(text=text, is_error=verdict.outcome not in _DONE, structured=values)


@implements(EscalateService)
async def handoff(context: ToolContext, arguments: EscalateService) -> ToolOutput:
    """Escalate a service."""
    ingest = context.ingest()
    name = arguments.service
    service = GENERAL if normalize_service_name(name) == GENERAL else context.declared(name).name
    return await tool_reports.escalate(ingest, service, arguments.reason)
