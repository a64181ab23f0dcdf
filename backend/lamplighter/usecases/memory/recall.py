"""Recall: builds every prompt's memories. Why each memory is included or not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.limits import DEFAULT_BUDGET
from lamplighter.domain.sessions.context import BlockPacker, MemoryBlock
from lamplighter.domain.sessions.inclusion import InclusionProbe
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import PromptFilter

PAGE: Final = 250
MAX_EXCLUDED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """A hypothetical prompt without some memories, or as of an earlier moment."""

    without: tuple[int, ...] = ()
    at: datetime | None = None


NO_CHANGE: Final = Hypothesis()


async def build_memory_context(
    db: Database,
    *,
    budget: int = DEFAULT_BUDGET,
    focus: Sequence[str] | None = None,
    neighbours: Sequence[str] = (),
    what_if: Hypothesis = NO_CHANGE,
    prospect: InclusionProbe | None = None,
) -> MemoryBlock:
    """Build the operational memory block (SPEC-0015, Prompt Injection via buildMemoryContext).

    Memories of the `focus` services are chosen and printed first; those of their neighbours
    are chosen next. A `prospect` follows the choice among those of its own service; one that
    is not eligible as it is counts as one more.
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
    """Return what memories there are to choose among."""
    return PromptFilter(without=what_if.without, at=what_if.at)


def circles(
    focus: Sequence[str] | None, neighbours: Sequence[str], what_if: Hypothesis
) -> list[PromptFilter]:
    """Return the memories to choose among, the circle that is chosen first in front."""
    every = eligible(what_if)
    if not focus:
        return [every]
    near = [each for each in (focus, neighbours) if each]
    inner = [replace(every, services=tuple(services)) for services in near]
    return [*inner, replace(every, services=(*focus, *neighbours), inside=False)]


def system_prompt_suffix(environment: str, memory: MemoryBlock) -> str:
    """Return what is appended to the system prompt: the surroundings, then the memories."""
    return f"{environment}\n{memory.text}" if memory.text else environment


async def _offer(
    db: Database, packing: BlockPacker, selection: PromptFilter, prospect: InclusionProbe | None
) -> None:
    """Offer page after page; behind the first, only what is short enough for what is left."""
    shortest = await memories.shortest_length(db, at=selection.at)
    position = None
    while selection.longest is None or selection.longest >= max(1, shortest):
        page = await memories.list_eligible(db, selection, limit=PAGE, position=position)
        for row in page.items:
            if prospect is None and packing.room < 1 and packing.left_out >= MAX_EXCLUDED:
                return  # no other one would be included, nor named
            memory = memories.placed(row, selection.at)
            if memory is None:
                continue
            if prospect is not None:
                prospect.before(packing, memory)
            packing.offer(memory)
        position, selection = page.position, replace(selection, longest=packing.room)
        if position is None:
            break
    if prospect is not None:
        prospect.behind(packing)
