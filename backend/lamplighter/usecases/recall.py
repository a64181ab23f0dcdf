"""Recall: the one way out. What a session is told, and why each memory is in or out of it."""

from collections.abc import Sequence
from typing import Final

from lamplighter.domain.context import (
    DEFAULT_BUDGET,
    NO_ROOM,
    Block,
    Packing,
    Placement,
    bullet,
)
from lamplighter.repository import Database, memories, reading

PAGE: Final = 500
LEFT_OUT_KEPT: Final = 200


async def block(
    db: Database, *, budget: int = DEFAULT_BUDGET, focus: Sequence[str] | None = None
) -> Block:
    """Build the operational memory block; memories of the `focus` services come first."""
    async with reading(db):
        packing = Packing(budget, total=await memories.count_tellable(db))
        rest: list[Placement] = []
        if focus:
            rest = await _offer(db, packing, focus, inside=True)
        if len(rest) < LEFT_OUT_KEPT:
            rest += await _offer(db, packing, focus or None, inside=False)
    found = packing.block()
    kept = [each for each in (*found.placements, *rest) if each.included]
    left_out = [each for each in (*found.placements, *rest) if not each.included]
    return Block(found.text, found.tokens, (*kept, *left_out[:LEFT_OUT_KEPT]))


def injected(environment: str, memory: Block) -> str:
    """Return what is appended to the system prompt: the surroundings, then the memories."""
    return f"{environment}\n{memory.text}" if memory.text else environment


async def _offer(
    db: Database, packing: Packing, services: Sequence[str] | None, *, inside: bool
) -> list[Placement]:
    """Offer page after page; once nothing fits any more, the rest of a page is left out."""
    position = None
    left_out: list[Placement] = []
    while True:
        page = await memories.tellable(
            db, services=services, inside=inside, limit=PAGE, position=position
        )
        for memory in page.items:
            if packing.full:
                left_out.append(Placement(memory, bullet(memory), NO_ROOM))
            else:
                packing.offer(memory)
        position = page.position
        if position is None or packing.full:
            return left_out
