"""Knowledge that is said again: revised by its topic key, counted by its words, or new."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lamplighter.domain.memory import Candidate, Memory, kind_of


class Outcome(StrEnum):
    """What became of a piece of knowledge, in AgentOps' words."""

    CREATED = "created"
    UPDATED = "updated"
    DEDUPLICATED = "deduplicated"


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a piece of knowledge, and the memory that holds it now."""

    outcome: Outcome
    memory: Memory


def revised(memory: Memory, said: Candidate, *, now: datetime) -> Memory:
    """Return a memory in the newer words of its topic key (agentops-memory, tier 1)."""
    return replace(
        memory,
        observation=said.observation,
        title=said.title or memory.title,
        tags=said.tags or memory.tags,
        category=said.category,
        kind=kind_of(said.category),
        distilled=True,
        revision_count=memory.revision_count + 1,
        last_seen_at=now,
        updated_at=now,
        decayed_weeks=0,
        version=memory.version + 1,
    )
