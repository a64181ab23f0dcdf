"""The effects of single memories on the next prompt, each by leaving one memory out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.sessions.context import MemoryBlock, Placement, estimate_tokens
from lamplighter.domain.sessions.inclusion import InclusionProbe, find_reason
from lamplighter.repository import Database, reading
from lamplighter.usecases.sessions.prompts import Hypothesis, build_memory_context


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEffect:
    """The position of a memory in the next prompt, and the lines that would replace it.

    `position` None means that it is not included, and the prompt without it is the same. `why` is
    the reason.
    """

    why: str
    position: int | None = None
    line: str = ""
    tokens: int = 0
    added: tuple[str, ...] = ()


async def prompt_effects(
    db: Database, memories: Sequence[Memory], *, budget: int, now: datetime
) -> dict[MemoryId, AuditEffect]:
    """Return the effect of each memory on the prompt of the next round."""
    async with reading(db):
        block = await build_memory_context(db, budget=budget)
        placed = _included(block)
        return {
            each.id: await _effect(db, placed, each, budget)
            if each.id in placed
            else AuditEffect(why=find_reason(InclusionProbe(each, now))[1])
            for each in memories
        }


async def _effect(
    db: Database, placed: dict[MemoryId, Placement], memory: Memory, budget: int
) -> AuditEffect:
    placement = placed[memory.id]
    without = Hypothesis(without=(memory.id,))
    other = _included(await build_memory_context(db, budget=budget, what_if=without))
    return AuditEffect(
        why=f"Line {(placement.position or 0) + 1:,} of {len(placed):,}.",
        position=placement.position,
        line=placement.line,
        tokens=estimate_tokens(placement.line),
        added=tuple(each.line for number, each in other.items() if number not in placed),
    )


def _included(block: MemoryBlock) -> dict[MemoryId, Placement]:
    return {each.memory.id: each for each in block.placements if each.included}
