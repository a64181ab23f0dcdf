"""The prompt of a session: the text of its tier, its memory block and its environment."""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Final

from lamplighter.assets import PROMPTS
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import MemoryBlock
from lamplighter.domain.sessions.environment import build_env_context
from lamplighter.domain.sessions.handoff import Handoff, join_names
from lamplighter.domain.sessions.session import TIERS, SessionPlan
from lamplighter.repository import Database
from lamplighter.repository.memory import exposures
from lamplighter.usecases.graph.focus import related_services
from lamplighter.usecases.memory import recall
from lamplighter.usecases.services import cooldown_usage

TOOLS: Final = "tools"
_PARTIAL: Final = re.compile(r"^\{\{ *([a-z-]+) *\}\}$", re.MULTILINE)
_TOOL: Final = re.compile(r"^- ([a-z_]+): .*\n(?:  .*\n)*", re.MULTILINE)
MESSAGES: Final = {
    1: "Check {}.",
    2: "Find out what is wrong with {}.",
    3: "Repair {}.",
}


def system_prompt(tier: int, tools: Collection[str] = ()) -> str:
    """Return the prompt of a tier, its shared parts filled in, with what is said of its tools."""
    text = (PROMPTS / f"tier{tier}-{TIERS[tier]}.md").read_text(encoding="utf-8")
    text = _PARTIAL.sub(lambda found: _partial(found[1]), text)
    return f"{text}\n{_tool_section(tools)}\n" if tools else text


def _tool_section(tools: Collection[str]) -> str:
    """Return what is said of tools: of those that there are."""
    return _TOOL.sub(lambda found: found[0] if found[1] in tools else "", _partial(TOOLS))


def _partial(name: str) -> str:
    return (PROMPTS / "partials" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def prompt_of(
    plan: SessionPlan, block: MemoryBlock, environment: str, *, budget: int
) -> exposures.SessionPrompt:
    """Return all that a session of this plan is given, as it is kept."""
    return exposures.SessionPrompt(
        system=system_prompt(plan.tier, plan.tools),
        injected=recall.system_prompt_suffix(environment, block),
        message=plan.prompt or _usual_message(plan),
        tokens=block.tokens,
        budget=budget,
    )


async def build_context(
    db: Database,
    plan: SessionPlan,
    services: Services,
    *,
    budget: int,
    handoff: Handoff | None = None,
    what_if: recall.Hypothesis = recall.NO_CHANGE,
    now: datetime,
) -> tuple[MemoryBlock, str]:
    """Return the prompt of a session of this plan: its memory block and its environment.

    `what_if` says what would be otherwise with the memories; the rest is as it is now.
    """
    in_scope = [each for each in services if plan.services is None or each.name in plan.services]
    around = await related_services(db, services, plan.services) if plan.services else []
    block = await recall.build_memory_context(
        db, budget=budget, focus=plan.services, neighbours=around, what_if=what_if
    )
    used = await cooldown_usage.by_service(db, [each.name for each in in_scope], now=now)
    return block, build_env_context(plan, in_scope, now=now, used=used, handoff=handoff)


def _usual_message(plan: SessionPlan) -> str:
    names = "all services" if plan.services is None else join_names(plan.services)
    return MESSAGES[plan.tier].format(names)
