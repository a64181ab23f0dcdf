"""The prompt of a session: the text of its tier, its memory block and its environment.

The reasons for each memory follow from the packing.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lamplighter.assets import PROMPTS
from lamplighter.domain.limits import DEFAULT_BUDGET
from lamplighter.domain.services.service import GENERAL, Services, normalize_service_name
from lamplighter.domain.sessions.context import (
    BlockPacker,
    MemoryBlock,
    SessionPrompt,
    build_env_context,
)
from lamplighter.domain.sessions.session import TIERS, SessionPlan
from lamplighter.domain.text import join_names
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import PromptFilter

if TYPE_CHECKING:
    from lamplighter.domain.sessions.handoff import Handoff
    from lamplighter.domain.sessions.inclusion import InclusionProbe
from lamplighter.repository.services import cooldowns

TOOLS: Final = "tools"
_PARTIAL: Final = re.compile(r"^\{\{ *([a-z-]+) *\}\}$", re.MULTILINE)
_TOOL: Final = re.compile(r"^- ([a-z_]+): .*\n(?:  .*\n)*", re.MULTILINE)
MESSAGES: Final = {
    1: "Check {}.",
    2: "Find out what is wrong with {}.",
    3: "Repair {}.",
}
PAGE: Final = 250
MAX_EXCLUDED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A hypothetical prompt without some memories, or as of an earlier time."""

    without: tuple[int, ...] = ()
    at: datetime | None = None


NO_CHANGE: Final = Hypothesis()


def system_prompt(tier: int, tools: Collection[str] = ()) -> str:
    """Return the prompt of a tier, with its shared parts filled in, and a section on its tools."""
    text = (PROMPTS / f"tier{tier}-{TIERS[tier]}.md").read_text(encoding="utf-8")
    text = _PARTIAL.sub(lambda found: _partial(found[1]), text)
    if not tools:
        return text
    section = _TOOL.sub(lambda found: found[0] if found[1] in tools else "", _partial(TOOLS))
    return f"{text}\n{section}\n"


def _partial(name: str) -> str:
    return (PROMPTS / "partials" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def prompt_of(
    plan: SessionPlan, block: MemoryBlock, environment: str, *, budget: int
) -> SessionPrompt:
    """Return the complete prompt of a session with this plan, as stored."""
    names = "all services" if plan.services is None else join_names(plan.services)
    return SessionPrompt(
        system=system_prompt(plan.tier, plan.tools),
        injected=system_prompt_suffix(environment, block),
        message=plan.prompt or MESSAGES[plan.tier].format(names),
        tokens=block.tokens,
        budget=budget,
    )


async def build_context(
    db: Database,
    plan: SessionPlan,
    services: Services,
    *,
    budget: int,
    handoff: "Handoff | None" = None,
    what_if: Hypothesis = NO_CHANGE,
    now: datetime,
) -> tuple[MemoryBlock, str]:
    """Return the prompt of a session of this plan: its memory block and its environment.

    `what_if` is a hypothesis about the memories; everything else is current.
    """
    in_scope = [each for each in services if plan.services is None or each.name in plan.services]
    around = await related(db, services, plan.services)
    block = await build_memory_context(
        db, budget=budget, focus=plan.services, neighbours=around, what_if=what_if
    )
    used = await cooldowns.usage_of(db, [each.name for each in in_scope], now=now)
    return block, build_env_context(plan, in_scope, now=now, used=used, handoff=handoff)


def parse_focus(text: str | None, services: Services) -> tuple[str, ...] | None:
    """Return the named services; memories may be about removed ones."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    found = [
        (services.find(name), name) for name in names if normalize_service_name(name) != GENERAL
    ]
    return tuple(service.name if service else name for service, name in found) or None


async def related(db: Database, services: Services, names: Sequence[str] | None) -> list[str]:
    """Return the services related to those of a prompt; none for a prompt about all services."""
    if not names:
        return []
    from lamplighter.usecases.graph.view import related_services  # slow import: loads the graph

    return await related_services(db, services, names)


async def build_memory_context(
    db: Database,
    *,
    budget: int = DEFAULT_BUDGET,
    focus: Sequence[str] | None = None,
    neighbours: Sequence[str] = (),
    what_if: Hypothesis = NO_CHANGE,
    prospect: "InclusionProbe | None" = None,
) -> MemoryBlock:
    """Build the operational memory block (SPEC-0015, Prompt Injection via buildMemoryContext).

    Memories of the `focus` services are selected and printed first; those of their neighbours are
    selected next. A `prospect` observes the selection within its own service; a prospect that is
    currently not eligible adds one to the total.
    """
    async with reading(db):
        total = await memories.count_eligible(db, eligible(what_if))
        if prospect is not None and not prospect.eligible:
            total += 1
        packing = BlockPacker(budget, total=total, focus=focus or ())
        for circle in circles(focus, neighbours, what_if):
            follows = prospect is not None and circle.holds(prospect.memory.service)
            await _offer(db, packing, circle, prospect if follows else None)
    found = packing.block()
    kept = [each for each in found.placements if each.included]
    left_out = [each for each in found.placements if not each.included]
    return replace(found, placements=(*kept, *left_out[:MAX_EXCLUDED]))


def eligible(what_if: Hypothesis) -> PromptFilter:
    """Return the filter of the memories to select from."""
    return PromptFilter(without=what_if.without, at=what_if.at)


def circles(
    focus: Sequence[str] | None, neighbours: Sequence[str], what_if: Hypothesis
) -> list[PromptFilter]:
    """Return the filters of the memories to select from, in the order of selection."""
    every = eligible(what_if)
    if not focus:
        return [every]
    near = [each for each in (focus, neighbours) if each]
    inner = [replace(every, services=tuple(services)) for services in near]
    return [*inner, replace(every, services=(*focus, *neighbours), inside=False)]


def system_prompt_suffix(environment: str, memory: MemoryBlock) -> str:
    """Return the suffix of the system prompt: the environment, then the memories."""
    return f"{environment}\n{memory.text}" if memory.text else environment


async def _offer(
    db: Database, packing: BlockPacker, selection: PromptFilter, prospect: "InclusionProbe | None"
) -> None:
    """Offer page after page; after the first, only memories short enough for the remaining room."""
    position = None
    while selection.longest is None or selection.longest > 0:
        page = await memories.list_eligible(db, selection, limit=PAGE, position=position)
        for row in page.items:
            if prospect is None and packing.left_out >= MAX_EXCLUDED and packing.room < 1:
                return  # no further memory would be included or listed
            memory = memories.placed(row, selection.at)
            if prospect is not None:
                prospect.test(packing, memory)
            packing.offer(memory)
        position, selection = page.position, replace(selection, longest=packing.room)
        if position is None:
            break
    if prospect is not None:
        prospect.test(packing)
