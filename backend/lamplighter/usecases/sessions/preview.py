"""Previews: the prompt of the next session, also under other assumptions."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import (
    BlockDifference,
    MemoryBlock,
    Placement,
    SessionPrompt,
    compare_blocks,
    estimate_tokens,
    extract_block,
)
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.usecases.sessions import prompts
from lamplighter.usecases.sessions.prompts import Hypothesis

NOW: Final = "now"
LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewRequest:
    """The requested preview: its session, its budget and its hypothesis.

    `against` selects the prompt to compare with: `now`, or the number of a session.
    """

    plan: SessionPlan
    budget: int
    what_if: Hypothesis = prompts.NO_CHANGE
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Circles:
    """How close a memory is to the subject of a session: closer memories are selected first."""

    focus: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ()

    def of(self, service: str | None) -> str:
        """Return focus, neighbour, general or other; without a focus all services are in focus."""
        if service is None:
            return "general"
        if not self.focus or service in self.focus:
            return "focus"
        return "neighbour" if service in self.neighbours else "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPreview:
    """A prompt preview: the memory block, the environment, and the difference."""

    block: MemoryBlock
    prompt: SessionPrompt
    circles: Circles
    usual_budget: int
    at: datetime | None
    difference: BlockDifference | None

    def as_json(self, *, whole: bool) -> dict[str, Any]:
        """Return the preview as JSON, its text with the environment or (not `whole`) without."""
        placed = [(each.included, self._placed(each)) for each in self.block.placements]
        values: dict[str, Any] = {
            "system": self.prompt.system,
            "prompt": self.prompt.message,
            "text": self.prompt.injected if whole else self.block.text,
            "tokens": self.block.tokens,
            "budget": self.prompt.budget,
            "in_force": self.usual_budget,
            "total": self.block.total,
            "included": [each for included, each in placed if included],
            "excluded": [each for included, each in placed if not included],
        }
        if self.at is not None:
            values["as_of"] = serialize.format_moment(self.at)
        if self.difference is not None:
            values["diff"] = {
                "against": self.difference.against,
                "added": list(self.difference.added),
                "removed": list(self.difference.removed),
                "text": self.difference.text,
            }
        return values

    def _placed(self, each: Placement) -> dict[str, Any]:
        memory = each.memory
        values = {
            "id": memory.id,
            "version": memory.version,
            "service": memory.service,
            "category": memory.category,
            "confidence": memory.confidence,
            "line": each.line,
            "tokens": estimate_tokens(each.line),
            "why": each.why,
            "circle": self.circles.of(memory.service),
            "rank": each.rank,
            "left": each.left,
        }
        return values if each.position is None else {**values, "position": each.position}


async def preview_prompt(
    db: Database, question: PreviewRequest, services: Services, *, usual_budget: int, now: datetime
) -> PromptPreview:
    """Return the prompt preview, built by the functions that build prompts.

    Raises Invalid for unknown memories, NotFound for an unknown session.
    """
    what_if, plan = question.what_if, question.plan
    async with reading(db):
        await _check(db, what_if)
        block, environment = await prompts.build_context(
            db, plan, services, budget=question.budget, what_if=what_if, now=now
        )
        other = None
        if question.against == NOW:
            known = await prompts.build_context(db, plan, services, budget=usual_budget, now=now)
            other = known[0].text
        elif question.against is not None:
            other = await _recorded_block(db, question.against)
    related = await prompts.related(db, services, plan.services)
    return PromptPreview(
        block=block,
        prompt=prompts.prompt_of(plan, block, environment, budget=question.budget),
        circles=Circles(plan.services or (), tuple(related)),
        usual_budget=usual_budget,
        at=what_if.at,
        difference=await _difference(other, block.text, question.against),
    )


def parse_ids(text: str | None) -> tuple[int, ...]:
    """Parse the memories to leave out; raises Invalid."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() and len(word) < 19 for word in words):
        raise Invalid(InvalidField("exclude", "must be a list of numbers such as 7,8"))
    return tuple(dict.fromkeys(map(int, words)))


def parse_comparison(text: str | None) -> str | None:
    """Parse the prompt to compare with; raises Invalid."""
    if text is None or text == NOW or (text.isascii() and text.isdigit() and len(text) < 20):
        return text
    raise Invalid(InvalidField("compare_to", "must be now or the number of a session"))


async def _check(db: Database, what_if: Hypothesis) -> None:
    there = await memories.existing_ids(db, what_if.without, at=what_if.at)
    missing = [str(number) for number in what_if.without if number not in there]
    if missing:
        then = "" if what_if.at is None else " at that time"
        raise Invalid(
            InvalidField("exclude", f"names memories that do not exist{then}: {', '.join(missing)}")
        )


async def _recorded_block(db: Database, text: str) -> str:
    from lamplighter.repository.memory import exposures  # for a comparison with a session
    from lamplighter.repository.sessions import sessions

    number = int(text)
    if number > LARGEST or await sessions.get(db, number) is None:
        raise NotFound(f"Session {number} not found.")
    prompt = await exposures.prompt(db, number)
    if prompt is None:
        raise NotFound(f"Session {number} has no stored prompt.")
    return extract_block(prompt.injected)


async def _difference(
    before: str | None, after: str, against: str | None
) -> BlockDifference | None:
    if before is None or against is None:
        return None
    return await asyncio.to_thread(compare_blocks, before, after, against=against)
