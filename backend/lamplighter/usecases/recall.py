"""Recall: the one way out. What a session is told, and why each memory is in or out of it."""

from collections.abc import Sequence
from typing import Final

from lamplighter.domain.context import (
    DEFAULT_BUDGET,
    Block,
    Packing,
)
from lamplighter.repository import Database, memories, reading

PAGE: Final = 250
LEFT_OUT_KEPT: Final = 200


async def build_memory_context(
    db: Database,
    *,
    budget: int = DEFAULT_BUDGET,
    focus: Sequence[str] | None = None,
    neighbours: Sequence[str] = (),
) -> Block:
    """Build the operational memory block (SPEC-0015, Prompt Injection via buildMemoryContext).

    Memories of the `focus` services come first, then those of their neighbours.
    """
    near = list(focus or ())
    async with reading(db):
        packing = Packing(budget, total=await memories.count_tellable(db))
        for circle in (near, list(neighbours) if focus else []):
            if circle:
                await _offer(db, packing, circle, inside=True)
        around = [*near, *neighbours] if focus else None
        await _offer(db, packing, around, inside=False)
    found = packing.block()
    kept = [each for each in found.placements if each.included]
    left_out = [each for each in found.placements if not each.included]
    return Block(found.text, found.tokens, (*kept, *left_out[:LEFT_OUT_KEPT]))


def injected(environment: str, memory: Block) -> str:
    """Return what is appended to the system prompt: the surroundings, then the memories."""
    return f"{environment}\n{memory.text}" if memory.text else environment


async def _offer(
    db: Database, packing: Packing, services: Sequence[str] | None, *, inside: bool
) -> None:
    """Offer page after page; behind the first, only what is short enough for what is left."""
    shortest = await memories.shortest(db)
    position, longest = None, None
    while longest is None or longest >= max(1, shortest):
        page = await memories.tellable(
            db, services=services, inside=inside, limit=PAGE, longest=longest, position=position
        )
        for memory in page.items:
            packing.offer(memory)
        position, longest = page.position, packing.room
        if position is None:
            return
