"""The evidence for a memory: its reports, the prompts that included it, and its contradictions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.memory.review import Review
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import evidence, memories
from lamplighter.repository.memory.evidence import MemoryInclusion, MemoryReport, SourceCounts
from lamplighter.usecases.memory import lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictingMemory:
    """A memory that contradicts another one (None: deleted), and the last review of the two."""

    memory_id: MemoryId
    memory: Memory | None
    review: Review | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvidence:
    """The evidence for a memory: the newest items of each kind, and their total numbers."""

    counts: SourceCounts
    reports: list[MemoryReport]
    inclusions: list[MemoryInclusion]
    partners: list[ContradictingMemory]
    outcomes: dict[str, Any] | None = None
    page: str | None = None
    """The notebook page that states the memory."""

    def as_json(self) -> dict[str, Any]:
        """Return the evidence as JSON."""
        return {
            "said": {
                "total": self.counts.reports,
                "sessions": self.counts.sessions,
                "items": [_source_json(each) for each in self.reports],
            },
            "told": {
                "total": self.counts.inclusions,
                "items": [_source_json(each) for each in self.inclusions],
            },
            "partners": [_contradiction_json(each) for each in self.partners],
            "outcomes": self.outcomes,
            "page": self.page,
        }


async def evidence_of(db: Database, number: int, *, limit: int) -> MemoryEvidence:
    """Return the evidence for a memory, at most `limit` of each kind; raises NotFound."""
    async with reading(db):
        memory = await lookup.get(db, number)
        memory_id = memory.id
        others = await evidence.contradicting(db, memory_id, limit=limit)
        by_id = await memories.by_ids(db, others)
        cases = await evidence.last_reviews(db, memory_id, others)
        return MemoryEvidence(
            counts=await evidence.counts(db, memory_id),
            reports=await evidence.reports(db, memory_id, limit=limit),
            inclusions=await evidence.inclusions(db, memory_id, limit=limit),
            partners=[_contradicting_memory(each, by_id, cases) for each in others],
            outcomes=await _outcomes(db, memory),
            page=await _page(db, memory_id),
        )


async def _outcomes(db: Database, memory: Memory) -> dict[str, Any] | None:
    """Return the counts behind a memory derived from outcomes; None for any other memory.

    `edited` means that a person changed it: the counts no longer apply to its text.
    """
    from lamplighter.domain.learning.facts import is_attached  # not needed by an audit
    from lamplighter.domain.learning.outcome import incidents_with
    from lamplighter.repository.services import outcomes

    fact = await outcomes.fact_of(db, memory.id)
    if fact is None:
        return None
    records = await outcomes.of_service(db, fact.service)
    used, unused = incidents_with(records, memory.id)
    return {
        "worked": fact.worked,
        "tried": fact.tried,
        "interval": list(fact.interval),
        "edited": not is_attached(fact, memory),
        "in_prompt": {"incidents": used[0], "repaired": used[1]},
        "not_in_prompt": {"incidents": unused[0], "repaired": unused[1]},
    }


async def _page(db: Database, memory_id: MemoryId) -> str | None:
    from lamplighter.repository.notebook import lines  # not needed by an audit

    return (await lines.paths_of(db, [memory_id])).get(memory_id)


def _contradicting_memory(
    other: MemoryId, memories: Mapping[MemoryId, Memory], cases: Mapping[MemoryId, Review]
) -> ContradictingMemory:
    return ContradictingMemory(memory_id=other, memory=memories.get(other), review=cases.get(other))


def _source_json(each: MemoryReport | MemoryInclusion) -> dict[str, Any]:
    return {**asdict(each), "at": serialize.format_moment(each.at)}


def _contradiction_json(each: ContradictingMemory) -> dict[str, Any]:
    review = each.review
    return {
        "memory_id": each.memory_id,
        "memory": serialize.memory(each.memory) if each.memory else None,
        "review": None
        if review is None
        else {
            "id": review.id,
            "kind": review.kind,
            "state": review.state,
            "resolution": review.resolution,
        },
    }
