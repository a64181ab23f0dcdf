"""Events, one by one, by what they say and by when they happened."""

from typing import Annotated

from msgspec import Meta, Struct, field

from lamplighter.api.common_shapes import Limit, Name, Seq, Words
from lamplighter.domain.services.event import Level


class Event(Struct):
    """One event."""

    id: int
    level: Level
    service: str | None
    text: str
    session_id: int | None
    tier: int
    source: str
    created_at: str
    version: int


class EventPage(Struct):
    """Some events, newest first."""

    items: list[Event]
    next: str | None
    seq: int


class EventFilter(Struct):
    """Which events; `level` may be repeated, `same` is the number of one that says the same."""

    level: list[Level] = []
    service: Name | None = None
    session: Seq | None = None
    q: Words | None = None
    since: Words | None = field(default=None, name="from")
    until: Words | None = field(default=None, name="to")
    same: Seq | None = None


class EventQuery(EventFilter):
    """Which events, where the list goes on, and how many rows of it."""

    cursor: str | None = None
    limit: Limit = 50


class Group(Struct):
    """Events that say the same of the same service; `session_id` is the last that said it."""

    level: Level
    service: str | None
    text: str
    count: int
    first_id: int
    last_id: int
    first_at: str
    last_at: str
    sessions: int
    session_id: int | None


class GroupPage(Struct):
    """Some groups, what happened last first."""

    items: list[Group]
    next: str | None
    seq: int


class DensityQuery(EventFilter):
    """Which events, and into how many stretches of time they are counted at most."""

    buckets: Annotated[int, Meta(ge=2, le=300)] = 60


class Stretch(Struct):
    """How many events of each level there were in a stretch of time that begins `at`."""

    at: str
    info: int
    warning: int
    critical: int


class Density(Struct):
    """How many events there were when, in stretches of so many seconds."""

    seconds: int
    total: int
    stretches: list[Stretch]
    seq: int


class EventIn(Struct):
    """An event that an operator reports."""

    level: Level
    text: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]
    service: Name | None = None
