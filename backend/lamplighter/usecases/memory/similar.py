"""Similar memories: those that repeat or contradict a draft; nothing changes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Memory, MemoryId
from lamplighter.domain.relate import Analysis, Lexicon, Relation, RelationVerdict, analyze
from lamplighter.domain.relate.nearest import lookup_terms
from lamplighter.domain.relate.reconcile import verdict_on
from lamplighter.repository import reading
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.search import analyses
from lamplighter.usecases.context import Context

MAX_SIMILAR: Final = 5
COMPARED: Final = 200
_ORDER: Final = (Relation.SAME, Relation.CONFLICTING, Relation.UNSURE)


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """An existing memory and its relation to a draft."""

    memory: Memory
    verdict: RelationVerdict


async def find_similar(
    here: Context,
    candidate: Candidate,
    lexicon: Lexicon,
    *,
    services: Sequence[str] = (),
    without: MemoryId | None = None,
) -> list[SimilarMemory]:
    """Return active memories that repeat a draft, then those that contradict it or may do so.

    The relation is decided as in `remember`; for knowledge only identical texts are found.
    `without` is the memory that is being edited. Raises Invalid for inadmissible content.
    """
    candidate = admit_candidate(candidate, here.redact)
    candidate = replace(candidate, service=await service_name(here.db, candidate.service, services))
    analysis = await asyncio.to_thread(
        analyze, candidate.observation, lexicon, service=candidate.service
    )
    wanted = lookup_terms(analysis) if candidate.category in OPERATIONAL else ()
    async with reading(here.db):
        held = await analyses.find_related(here.db, candidate, wanted, lexicon, limit=COMPARED)
    others = [each for each in held if each[0].id != without]
    return await asyncio.to_thread(_compare, candidate, analysis, others, lexicon)


def _compare(
    candidate: Candidate,
    analysis: Analysis,
    existing: Sequence[tuple[Memory, Analysis | None]],
    lexicon: Lexicon,
) -> list[SimilarMemory]:
    judged = [
        SimilarMemory(memory, verdict_on(candidate.observation, analysis, memory, said, lexicon))
        for memory, said in existing
    ]
    related = [each for each in judged if each.verdict.relation in _ORDER]
    return sorted(related, key=_rank)[:MAX_SIMILAR]


def _rank(each: SimilarMemory) -> tuple[int, float, float, int]:
    verdict, memory = each.verdict, each.memory
    return _ORDER.index(verdict.relation), -verdict.p, -memory.confidence, memory.id
