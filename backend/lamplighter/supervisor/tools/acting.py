"""The tools by which a session acts: through the gate, or by handing a service on."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.cooldown import Outcome
from lamplighter.domain.markers import Marker, Reading, What
from lamplighter.domain.offers import HANDOFF, RUN_ACTION
from lamplighter.domain.service import GENERAL, fold
from lamplighter.domain.session import MAX_TIER
from lamplighter.repository import escalations
from lamplighter.supervisor.tools.bench import Bench
from lamplighter.usecases import observe
from lamplighter.usecases.toolbox import Answer, Tool, tool

_DONE = (Outcome.SUCCESS, Outcome.WOULD)


def run_action(bench: Bench) -> Tool:
    """Return the tool that runs a declared action; the gate bounds its time."""

    async def use(given: Mapping[str, Any]) -> Answer:
        verdict = await bench.gate.run_action(
            given["service"], given["action"], again=given.get("again"), reason=given["reason"]
        )
        words = f"{verdict.outcome.capitalize()}: {verdict.words}."
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
        handed = await escalations.of(taking.db, [taking.session.id])
        if any(fold(each.service) == fold(service) for each in handed):
            return Answer(text=f"{service} is handed on already; once is enough.")
        marker = Marker(
            what=What.ESCALATE,
            reading=Reading.TAKEN,
            line=0,
            text="",
            service=service,
            body=given["reason"],
        )
        await observe.say(taking, marker, now=bench.gate.now())
        return _handed(bench, service, taking.max_tier)

    return tool(HANDOFF, use)


def _handed(bench: Bench, service: str, max_tier: int) -> Answer:
    session = bench.gate.session
    last = session.tier >= min(max_tier, MAX_TIER)
    whom = "a person" if last else f"tier {session.tier + 1}"
    found = {"service": service, "tier": None if last else session.tier + 1, "person": last}
    if session.dry_run:
        return Answer(text=f"Dry run: {whom} would be asked for {service}.", found=found)
    when = "now" if last else "when this session completes"
    return Answer(text=f"{service} goes to {whom} {when}.", found=found)
