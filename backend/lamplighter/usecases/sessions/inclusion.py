"""Include: whether the next prompt includes a memory, why, and what would include it.

The answer comes from the packing of the prompt itself: `recall.build_memory_context`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import Block, Lines, budget_for, tokens
from lamplighter.domain.sessions.inclusion import (
    MOST_BUDGET,
    Inclusion,
    Prospect,
    Reason,
    Way,
    reason_of,
)
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import exposures
from lamplighter.usecases.memory import curate, recall
from lamplighter.usecases.memory.recall import WhatIf
from lamplighter.usecases.sessions import chain

WITHOUT = "Left out: the question asks for a prompt without it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which prompt is asked about: its budget, its services (None: all), and what is otherwise."""

    budget: int
    services: tuple[str, ...] | None = None
    what_if: WhatIf = recall.AS_IT_IS


async def explain(
    db: Database, memory_id: int, asked: Asked, services: Services, *, now: datetime
) -> Inclusion:
    """Return whether a prompt includes a memory, and why; raises NotFound.

    Of an earlier moment there is no way to include a memory any more.
    """
    what_if = asked.what_if
    around = tuple(chain.neighbours(services, asked.services)) if asked.services else ()
    async with reading(db):
        held = await curate.get(db, memory_id, at=what_if.at)
        prospect = Prospect(held, now)
        block = await recall.build_memory_context(
            db,
            budget=asked.budget,
            focus=asked.services,
            neighbours=around,
            what_if=what_if,
            prospect=prospect,
        )
        lines = await _ahead(db, prospect.memory, asked, around)
    if held.id in what_if.without:
        return Inclusion(
            memory=held,
            reason=Reason.WITHOUT,
            words=WITHOUT,
            budget=asked.budget,
            total=block.total,
        )
    found = _inclusion(prospect, block, lines, asked)
    if what_if.at is not None or found.reason is Reason.INCLUDED:
        return found
    return replace(found, ways=tuple(_ways(prospect, lines, asked, services, total=block.total)))


async def _ahead(db: Database, memory: Memory, asked: Asked, around: Sequence[str]) -> list[Lines]:
    """Return the lines that are chosen before a memory."""
    circles = recall.circles(asked.services, around, asked.what_if)
    at = next(at for at, each in enumerate(circles) if each.holds(memory.service))
    return await exposures.lines(db, memory, circles[at], circles[:at])


def _inclusion(prospect: Prospect, block: Block, lines: Sequence[Lines], asked: Asked) -> Inclusion:
    reason, words = reason_of(prospect)
    included = [each for each in block.placements if each.included]
    found = Inclusion(
        memory=prospect.held,
        reason=reason,
        words=words,
        budget=asked.budget,
        total=block.total - (not prospect.eligible),
        rank=sum(each.count for each in lines) if prospect.eligible else None,
        included=len(included),
    )
    for each in included:
        if each.memory.id == prospect.held.id:
            place = (each.position or 0) + 1
            return replace(
                found,
                words=f"Line {place:,} of {len(included):,}.",
                position=each.position,
                line=each.line,
                tokens=tokens(each.line),
            )
    return found if found.rank is None else replace(found, words=_placed(found, asked))


def _placed(found: Inclusion, asked: Asked) -> str:
    """Return why a memory that was chosen among is left out, with its place."""
    words = f"{found.words} Rank {(found.rank or 0) + 1:,} of {found.total:,}."
    if asked.services and found.memory.service not in asked.services:
        words += f" The memories of {' and '.join(asked.services)} come first."
    return words


def _ways(
    prospect: Prospect, lines: Sequence[Lines], asked: Asked, services: Services, *, total: int
) -> list[Way]:
    """Return the ways to include a memory that is left out, each enough by itself."""
    required, memory = Way(edit=prospect.required), prospect.memory
    if prospect.fits:
        return [required]
    ways: list[Way] = []
    if prospect.confidence is not None:
        ways.append(Way(edit=replace(required.edit, confidence=prospect.confidence)))
    budget = budget_for(lines, memory, total)
    if asked.budget < budget <= MOST_BUDGET:
        ways.append(replace(required, budget=budget))
    if memory.service is None or memory.service not in {each.name for each in services}:
        return ways
    own = [each for each in lines if each.service == memory.service]
    if asked.services != (memory.service,) and budget_for(own, memory, total) <= asked.budget:
        ways.append(replace(required, service=memory.service))
    return ways
