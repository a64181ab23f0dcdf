"""Facts: the stored fact about a subject, and how new evidence changes its memory."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.errors import Invalid
from lamplighter.domain.learning.extract import agrees, extract_claim
from lamplighter.domain.learning.facts import LearnedFact, decide_fact, render
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import Candidate, Source, Trust
from lamplighter.repository import Database
from lamplighter.repository.memory import history, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import outcomes
from lamplighter.repository.writes import store
from lamplighter.usecases.context import Context

logger = logging.getLogger(__name__)

MAX_ADOPTED: Final = 200


@dataclass(frozen=True, slots=True)
class Lesson:
    """The evidence for one fact: the fact, the fact before, and the session that showed it."""

    fact: LearnedFact
    before: LearnedFact | None
    helped: bool
    session_id: int | None = None
    tier: int = 0


async def before(
    db: Database, fact: LearnedFact, signatures: Sequence[str], newest: int
) -> tuple[LearnedFact | None, int]:
    """Return the stored fact about the same subject, and the ID after which evidence counts.

    A fact whose memory a person deleted counts only newer evidence.
    """
    wanted = {fact.signature, *signatures}
    before = next(
        (
            each
            for each in await outcomes.facts_of(db, fact.service)
            if each.signature in wanted and replace(each, signature=fact.signature).is_same(fact)
        ),
        None,
    )
    if before is None:
        return None, 0
    if await memories.get(db, before.memory_id) is None:
        before = await restart(db, before, newest)
    return before, before.counted_from


async def restart(db: Database, fact: LearnedFact, newest: int) -> LearnedFact:
    """Restart the count, once, after a person deleted the memory: the fact then has no sentence."""
    if not fact.sentence:
        return fact
    await outcomes.put_fact(db, restarted := replace(fact, sentence="", counted_from=newest), fact)
    return restarted


async def remember(here: Context, source: str, lesson: Lesson, *, fading: bool) -> None:
    """Apply a lesson to the memory of its fact; `source` is its origin, such as an incident."""
    db, now, before = here.db, here.now(), lesson.before
    fact = render(lesson.fact)
    candidate = Candidate(
        category=fact.frame.category,
        service=fact.service,
        observation=fact.sentence,
        tier=lesson.tier,
        session_id=lesson.session_id,
        source_ref=source,
    )
    try:
        candidate = admit_candidate(candidate, here.redact)
    except Invalid as error:
        logger.warning("%s taught nothing: %s", source.capitalize(), error)
        return
    if before is None:
        before = await _adopted(db, fact)
    memory = await memories.get(db, before.memory_id) if before else None
    intents = decide_fact(
        fact,
        candidate,
        before,
        memory,
        helped=lesson.helped,
        source=source,
        fading=fading,
        now=now,
    )
    if intents is None:
        return
    new = await store(db, intents, now=now)
    number = new[-1].id if new else memory.id if memory else 0
    fact = replace(fact, memory_id=number, sentence=candidate.observation)
    await outcomes.put_fact(db, fact, before)


async def _adopted(db: Database, fact: LearnedFact) -> LearnedFact | None:
    """Return the fact with a memory that a session has reported in the same form, as text."""
    same = MemoryFilter(service=fact.service, category=fact.frame.category, active=True)
    found = await memories.page(db, same, sort=Sort.CREATED, limit=MAX_ADOPTED)
    taken = {each.memory_id for each in await outcomes.facts_of(db, fact.service)}
    for memory in found.items:
        free = memory.id not in taken and memory.trust is not Trust.UNVERIFIED
        free = free and memory.source is Source.MARKER and _claims(memory.observation, fact)
        if free and not await history.edited_among(db, [memory.id]):
            return replace(fact, memory_id=memory.id, sentence=memory.observation)
    return None


def _claims(observation: str, fact: LearnedFact) -> bool:
    """Whether a sentence states a fact: in its form, or with its fields in other words."""
    if fact.frame.is_same_subject(observation, fact.sentence):
        return True
    claim = extract_claim(fact.service, observation)
    return claim is not None and agrees(claim, fact) is True
