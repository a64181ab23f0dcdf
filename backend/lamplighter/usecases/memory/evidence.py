"""Ground: what one memory rests on: who said it, who was told it, and what speaks against it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.domain.memory.review import Review
from lamplighter.domain.services.service import GENERAL, fold
from lamplighter.domain.text import one_line
from lamplighter.formats import serialize
from lamplighter.formats.audit import Audit, beliefs
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import evidence, memories, sources
from lamplighter.repository.memory.sources import Counts, Saying, Telling
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.service_names import spelled


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
        others = await sources.against(db, memory_id, limit=limit)
        held = await memories.several(db, others)
        cases = await sources.cases(db, memory_id, others)
        return Ground(
            counts=await sources.counts(db, memory_id),
            said=await sources.said(db, memory_id, limit=limit),
            told=await sources.told(db, memory_id, limit=limit),
            partners=[_beside(each, held, cases) for each in others],
        )


def _beside(
    other: MemoryId, held: Mapping[MemoryId, Memory], cases: Mapping[MemoryId, Review]
) -> Partner:
    return Partner(memory_id=other, memory=held.get(other), review=cases.get(other))


def _voice(each: Saying | Telling) -> dict[str, Any]:
    return {**asdict(each), "at": serialize.at(each.at)}


def _partner(each: Partner) -> dict[str, Any]:
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


async def audit(
    db: Database,
    topic: str,
    *,
    known: Sequence[str] = (),
    limit: int,
    position: Sequence[Any] | None = None,
) -> Audit:
    """Return one page of what is believed on a service, or where a word is said; raises Invalid."""
    topic = one_line(topic)
    if not topic:
        raise Invalid(Wrong("topic", "says nothing"))
    topic = GENERAL if fold(topic) == GENERAL else topic
    async with reading(db):
        service = await spelled(db, topic, known)
        found = await evidence.believed(db, topic, service, limit=limit, position=position)
        active, inactive = await evidence.counted(db, topic, service)
        rest = await evidence.of(db, [memory.id for memory in found.items])
    return Audit(
        topic=topic,
        service=service,
        beliefs=beliefs(found.items, rest),
        active=active,
        inactive=inactive,
        position=None if found.position is None else tuple(found.position),
    )
