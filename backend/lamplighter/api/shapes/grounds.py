"""Grounds: what one memory rests on."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.shapes.kinds import Limit
from lamplighter.api.shapes.memories import Memory


class GroundsQuery(Struct):
    """How many of each."""

    limit: Limit = 20


class Saying(Struct):
    """A time that a memory was said: by a session, or (null, tier 0) by a person."""

    session_id: int | None
    tier: int
    at: str
    cause: Literal["created", "learned", "reinforced"]
    before: float | None
    after: float | None


class Sayings(Struct):
    """How often a memory was said, by how many sessions, and the newest of it."""

    total: int
    sessions: int
    items: list[Saying]


class Telling(Struct):
    """A session that was told a memory, at which place among all that it was told."""

    session_id: int
    tier: int
    at: str
    position: int


class Tellings(Struct):
    """How many sessions were told a memory, and the newest of them."""

    total: int
    items: list[Telling]


class PartnerCase(Struct):
    """The last review of two memories that contradict each other."""

    id: int
    kind: Literal["conflict", "possible"]
    state: Literal["open", "resolved"]
    resolution: Literal["keep_old", "keep_new", "both", "merge", "dismiss", "gone"] | None


class Partner(Struct):
    """A memory that contradicts another one as it is now; null is one that is gone."""

    memory_id: int
    memory: Memory | None
    review: PartnerCase | None


class Grounds(Struct):
    """Who said a memory, who was told it, and what contradicts it, the newest first."""

    said: Sayings
    told: Tellings
    partners: list[Partner]
