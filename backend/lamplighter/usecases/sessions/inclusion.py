"""Inclusion: whether the next prompt includes a memory, why, and how to include it.

The answer comes from the packing of the prompt itself: `prompts.build_memory_context`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import (
    MemoryBlock,
    ServiceLines,
    estimate_tokens,
    required_budget,
)
from lamplighter.domain.sessions.inclusion import (
    MOST_BUDGET,
    Inclusion,
    InclusionOption,
    InclusionProbe,
    InclusionReason,
    find_reason,
)
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import exposures
from lamplighter.usecases.memory import lookup
from lamplighter.usecases.sessions import prompts
from lamplighter.usecases.sessions.prompts import Hypothesis

WITHOUT = "Not included: the preview excludes this memory."


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionRequest:
    """The prompt in question: its budget, its services (None: all), and the hypothesis."""

    budget: int
    services: tuple[str, ...] | None = None
    what_if: Hypothesis = prompts.NO_CHANGE


async def explain(
    db: Database,
    memory_id: int,
    request: InclusionRequest,
    services: Callable[[], Services],
    *,
    now: datetime,
) -> Inclusion:
    """Return whether a prompt includes a memory, and why; raises NotFound.

    For an earlier time there are no options to include the memory. `services` returns the declared
    ones, if needed.
    """
    what_if = request.what_if
    focus = request.services
    around = tuple(await prompts.related(db, services(), focus)) if focus else ()
    async with reading(db):
        existing = await lookup.get(db, memory_id, at=what_if.at)
        prospect = InclusionProbe(existing, now)
        block = await prompts.build_memory_context(
            db,
            budget=request.budget,
            focus=request.services,
            neighbours=around,
            what_if=what_if,
            prospect=prospect,
        )
        lines = await _lines_before(db, prospect.memory, request, around)
    if existing.id in what_if.without:
        return Inclusion(
            memory=existing,
            reason=InclusionReason.WITHOUT,
            explanation=WITHOUT,
            budget=request.budget,
            total=block.total,
        )
    found = _inclusion(prospect, block, lines, request)
    if what_if.at is not None or found.reason is InclusionReason.INCLUDED:
        return found
    return replace(
        found, ways=tuple(_list_ways(prospect, lines, request, services(), total=block.total))
    )


async def _lines_before(
    db: Database, memory: Memory, request: InclusionRequest, around: Sequence[str]
) -> list[ServiceLines]:
    """Return the lines that are selected before a memory."""
    circles = prompts.circles(request.services, around, request.what_if)
    at = next(at for at, each in enumerate(circles) if each.holds(memory.service))
    return await exposures.lines_before(db, memory, circles[at], circles[:at])


def _inclusion(
    prospect: InclusionProbe,
    block: MemoryBlock,
    lines: Sequence[ServiceLines],
    request: InclusionRequest,
) -> Inclusion:
    reason, words = find_reason(prospect)
    included = [each for each in block.placements if each.included]
    inclusion = Inclusion(
        memory=prospect.current,
        reason=reason,
        explanation=words,
        budget=request.budget,
        total=block.total - (not prospect.eligible),
        rank=sum(each.count for each in lines) if prospect.eligible else None,
        included=len(included),
    )
    for each in included:
        if each.memory.id == prospect.current.id:
            place = (each.position or 0) + 1
            return replace(
                inclusion,
                explanation=f"Line {place:,} of {len(included):,}.",
                position=each.position,
                line=each.line,
                tokens=estimate_tokens(each.line),
            )
    return (
        inclusion
        if inclusion.rank is None
        else replace(inclusion, explanation=_placed(inclusion, request))
    )


def _placed(found: Inclusion, request: InclusionRequest) -> str:
    """Return why a memory was considered and left out, with its rank."""
    words = f"{found.explanation} Rank {(found.rank or 0) + 1:,} of {found.total:,}."
    if request.services and found.memory.service not in request.services:
        words += f" Memories about {' and '.join(request.services)} rank first."
    return words


def _list_ways(
    prospect: InclusionProbe,
    lines: Sequence[ServiceLines],
    request: InclusionRequest,
    services: Services,
    *,
    total: int,
) -> list[InclusionOption]:
    """Return the options to include a memory that is left out, each sufficient by itself."""
    required, memory = InclusionOption(edit=prospect.required), prospect.memory
    if prospect.fits:
        return [required]
    ways: list[InclusionOption] = []
    if prospect.confidence is not None:
        ways.append(InclusionOption(edit=replace(required.edit, confidence=prospect.confidence)))
    budget = required_budget(lines, memory, total)
    if request.budget < budget <= MOST_BUDGET:
        ways.append(replace(required, budget=budget))
    if memory.service is None or memory.service not in {each.name for each in services}:
        return ways
    own = [each for each in lines if each.service == memory.service]
    if (
        request.services != (memory.service,)
        and required_budget(own, memory, total) <= request.budget
    ):
        ways.append(replace(required, service=memory.service))
    return ways
