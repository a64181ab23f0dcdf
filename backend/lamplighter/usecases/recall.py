"""Recall: the one way out. What a session is told, and why each memory is in or out of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.context import (
    DEFAULT_BUDGET,
    Block,
    Packing,
)
from lamplighter.repository import Database, memories, reading
from lamplighter.repository.memories import Tellable

PAGE: Final = 250
LEFT_OUT_KEPT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What would be told if some memories were not there, or at an earlier moment."""

    without: tuple[int, ...] = ()
    at: datetime | None = None


AS_IT_IS: Final = WhatIf()


async def build_memory_context(
    db: Database,
    *,
    budget: int = DEFAULT_BUDGET,
    focus: Sequence[str] | None = None,
    neighbours: Sequence[str] = (),
    what_if: WhatIf = AS_IT_IS,
) -> Block:
    """Build the operational memory block (SPEC-0015, Prompt Injection via buildMemoryContext).

    Memories of the `focus` services come first, then those of their neighbours.
    """
    near = list(focus or ())
    every = Tellable(without=what_if.without, at=what_if.at)
    async with reading(db):
        packing = Packing(budget, total=await memories.count_tellable(db, every))
        for circle in (near, list(neighbours) if focus else []):
            if circle:
                await _offer(db, packing, replace(every, services=circle))
        around = [*near, *neighbours] if focus else None
        await _offer(db, packing, replace(every, services=around, inside=False))
    found = packing.block()
    kept = [each for each in found.placements if each.included]
    left_out = [each for each in found.placements if not each.included]
    return replace(found, placements=(*kept, *left_out[:LEFT_OUT_KEPT]))


def injected(environment: str, memory: Block) -> str:
    """Return what is appended to the system prompt: the surroundings, then the memories."""
    return f"{environment}\n{memory.text}" if memory.text else environment


async def _offer(db: Database, packing: Packing, wanted: Tellable) -> None:
    """Offer page after page; behind the first, only what is short enough for what is left."""
    shortest = await memories.shortest(db, at=wanted.at)
    position = None
    while wanted.longest is None or wanted.longest >= max(1, shortest):
        page = await memories.tellable(db, wanted, limit=PAGE, position=position)
        for memory in page.items:
            packing.offer(memory)
        position, wanted = page.position, replace(wanted, longest=packing.room)
        if position is None:
            return
