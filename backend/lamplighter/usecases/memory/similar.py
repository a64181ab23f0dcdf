"""Similar: what we hold that says the same as somebody is typing, or otherwise; nothing changes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.memory.admit import Redact, admitted
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Memory, MemoryId
from lamplighter.domain.relate import Analysis, Lexicon, Relation, Verdict, analyse
from lamplighter.domain.relate.nearest import terms
from lamplighter.repository import Database, reading
from lamplighter.repository.search import analyses
from lamplighter.usecases.memory.remember import verdict_on
from lamplighter.usecases.memory.service_names import spelled

MOST: Final = 5
COMPARED: Final = 200
_ORDER: Final = (Relation.SAME, Relation.CONFLICTING, Relation.UNSURE)


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that we hold, and how what is typed stands to it."""

    memory: Memory
    verdict: Verdict


async def similar(
    db: Database,
    candidate: Candidate,
    *,
    lexicon: Lexicon,
    redact: Redact,
    known: Sequence[str] = (),
    without: MemoryId | None = None,
) -> list[Similar]:
    """Return active memories that say the same, then those that say or may say otherwise.

    They are judged as `remember` judges them; of knowledge only the same words are found.
    `without` is the memory that is being edited. Raises Invalid for what may not enter.
    """
    candidate = admitted(candidate, redact)
    candidate = replace(candidate, service=await spelled(db, candidate.service, known))
    analysis = await asyncio.to_thread(_analysed, candidate, lexicon)
    wanted = terms(analysis) if candidate.category in OPERATIONAL else ()
    async with reading(db):
        held = await analyses.likely(db, candidate, wanted, lexicon, limit=COMPARED)
    others = [each for each in held if each[0].id != without]
    return await asyncio.to_thread(_judged, candidate, analysis, others, lexicon)


def _analysed(candidate: Candidate, lexicon: Lexicon) -> Analysis:
    return analyse(candidate.observation, lexicon, service=candidate.service)


def _judged(
    candidate: Candidate,
    analysis: Analysis,
    held: Sequence[tuple[Memory, Analysis | None]],
    lexicon: Lexicon,
) -> list[Similar]:
    judged = [
        Similar(memory, verdict_on(candidate, analysis, memory, said, lexicon))
        for memory, said in held
    ]
    related = [each for each in judged if each.verdict.relation in _ORDER]
    return sorted(related, key=_rank)[:MOST]


def _rank(each: Similar) -> tuple[int, float, float, int]:
    verdict, memory = each.verdict, each.memory
    return _ORDER.index(verdict.relation), -verdict.p, -memory.confidence, memory.id
