"""Ground: what one memory rests on: who said it, who was told it, and what speaks against it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lamplighter.domain import plain
from lamplighter.domain.memory import Memory, MemoryId
from lamplighter.domain.review import Review
from lamplighter.repository import Database, memories, reading, voices
from lamplighter.repository.voices import Counts, Saying, Telling
from lamplighter.usecases import curate


@dataclass(frozen=True, slots=True, kw_only=True)
class Partner:
    """A memory that contradicts another one (None: it is gone), and the last review of the two."""

    memory_id: MemoryId
    memory: Memory | None
    review: Review | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a memory rests on: the newest of each, and how many there are in all."""

    counts: Counts
    said: list[Saying]
    told: list[Telling]
    partners: list[Partner]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "said": {
                "total": self.counts.said,
                "sessions": self.counts.sessions,
                "items": [_voice(each) for each in self.said],
            },
            "told": {
                "total": self.counts.told,
                "items": [_voice(each) for each in self.told],
            },
            "partners": [_partner(each) for each in self.partners],
        }


async def ground(db: Database, number: int, *, limit: int) -> Ground:
    """Return what a memory rests on, at most `limit` of each; raises NotFound."""
    async with reading(db):
        memory_id = (await curate.get(db, number)).id
        others = await voices.against(db, memory_id, limit=limit)
        held = await memories.several(db, others)
        cases = await voices.cases(db, memory_id, others)
        return Ground(
            counts=await voices.counts(db, memory_id),
            said=await voices.said(db, memory_id, limit=limit),
            told=await voices.told(db, memory_id, limit=limit),
            partners=[_beside(each, held, cases) for each in others],
        )


def _beside(
    other: MemoryId, held: Mapping[MemoryId, Memory], cases: Mapping[MemoryId, Review]
) -> Partner:
    return Partner(memory_id=other, memory=held.get(other), review=cases.get(other))


def _voice(each: Saying | Telling) -> dict[str, Any]:
    return {**asdict(each), "at": plain.at(each.at)}


def _partner(each: Partner) -> dict[str, Any]:
    review = each.review
    return {
        "memory_id": each.memory_id,
        "memory": plain.memory(each.memory) if each.memory else None,
        "review": None
        if review is None
        else {
            "id": review.id,
            "kind": review.kind,
            "state": review.state,
            "resolution": review.resolution,
        },
    }
