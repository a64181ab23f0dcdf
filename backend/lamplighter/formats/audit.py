"""Audit: all beliefs on a topic, and their evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.memory.decay import inactive_from
from lamplighter.domain.memory.memory import Memory
from lamplighter.formats import serialize

NAMED: Final = 20
"""So many sessions, links and reviews of a belief are named; their numbers are always whole."""


@dataclass(frozen=True, slots=True)
class AuditOccurrence:
    """A session that changed a memory, or had it in its prompt; None is the supervisor."""

    session_id: int | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditTally:
    """How often something happened, and the last of it, newest first."""

    count: int = 0
    occurrences: tuple[AuditOccurrence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLink:
    """A link to or (`inward`) from another memory; `observation` None when that was deleted."""

    what: str
    inward: Annotated[bool, Field(public=False)]
    memory_id: int
    observation: str | None
    active: bool
    session_id: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReview:
    """An open review that a memory is part of, and the other memory of it."""

    review_id: Annotated[int, Field(json="id")]
    kind: str
    other_id: Annotated[int, Field(json="memory_id")]
    observation: Annotated[str, Field(json="said")]
    at: datetime


@dataclass(frozen=True, slots=True)
class AuditLinks:
    """The links, or the open reviews, of a memory: how many, and the newest."""

    count: int = 0
    links: tuple[AuditLink, ...] = ()
    cases: tuple[AuditReview, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOutcome:
    """The last outcome of the verification of a memory, with an object for each claim."""

    state: str
    checked_at: datetime | None
    evidence: tuple[Mapping[str, str], ...]
    untested: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvidence:
    """The evidence of some beliefs, by the numbers of their memories."""

    confirmed: Mapping[int, AuditTally] = field(default_factory=dict)
    contradicted: Mapping[int, AuditTally] = field(default_factory=dict)
    included: Mapping[int, AuditTally] = field(default_factory=dict)
    links: Mapping[int, AuditLinks] = field(default_factory=dict)
    cases: Mapping[int, AuditLinks] = field(default_factory=dict)
    outcomes: Mapping[int, AuditOutcome] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedMemory:
    """A memory and its evidence; from `falls` on it is inactive unless confirmed."""

    memory: Memory
    confirmed: AuditTally
    contradicted: AuditTally
    included: AuditTally
    links: AuditLinks
    cases: AuditLinks
    outcome: AuditOutcome | None
    falls: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The beliefs on a topic: some of them (the active first), and their number."""

    topic: str
    service: str | None
    beliefs: tuple[AuditedMemory, ...]
    active: int
    inactive: int
    position: tuple[Any, ...] | None = None


def attach_evidence(
    memories: Sequence[Memory], grounds: AuditEvidence
) -> tuple[AuditedMemory, ...]:
    """Combine each memory with its evidence."""
    return tuple(
        AuditedMemory(
            memory=memory,
            confirmed=grounds.confirmed.get(memory.id, AuditTally()),
            contradicted=grounds.contradicted.get(memory.id, AuditTally()),
            included=grounds.included.get(memory.id, AuditTally()),
            links=grounds.links.get(memory.id, AuditLinks()),
            cases=grounds.cases.get(memory.id, AuditLinks()),
            outcome=grounds.outcomes.get(memory.id),
            falls=inactive_from(memory),
        )
        for memory in memories
    )


def as_json(each: AuditedMemory) -> dict[str, Any]:
    """Return a belief as JSON."""
    return {
        "memory": serialize.memory(each.memory),
        "confirmed": _tally(each.confirmed),
        "contradicted": _tally(each.contradicted),
        "told": _tally(each.included),
        "links": {"count": each.links.count, "items": [_link(tie) for tie in each.links.links]},
        "reviews": {
            "count": each.cases.count,
            "items": [_review(case) for case in each.cases.cases],
        },
        "verification": None if each.outcome is None else _outcome(each.outcome),
        "inactive_from": serialize.format_moment(each.falls),
    }


def _direction(each: AuditLink) -> str:
    return "from" if each.inward else "to"


_outcome: Final = serialize.Writer[AuditOutcome]()


def _tally(each: AuditTally) -> dict[str, Any]:
    occurrences = [
        {"session_id": voice.session_id, "at": serialize.format_moment(voice.at)}
        for voice in each.occurrences
    ]
    return {"count": each.count, "sessions": occurrences}


_link: Final = serialize.Writer[AuditLink](what=("direction", _direction))
_review: Final = serialize.Writer[AuditReview]()
