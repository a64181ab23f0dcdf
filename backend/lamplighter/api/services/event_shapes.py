"""Events: single ones, groups with equal text, and counts over time."""

from typing import Annotated

from msgspec import Meta, Struct, field

from lamplighter.api.common_shapes import Limit, Name, Seq, ShortText, page_of, public_shape
from lamplighter.domain.services.event import Event, Level
from lamplighter.repository.services.events import EventGroup


@public_shape(Event)
class EventOut(Struct):
    """One event."""


EventPage = page_of(EventOut, "A page of events, newest first.")


class EventFilter(Struct):
    """Filters for events; `level` is repeatable, `repeats_of` is the id of a repeated event."""

    level: list[Level] = []
    service: Name | None = None
    session: Seq | None = None
    q: ShortText | None = None
    since: ShortText | None = field(default=None, name="from")
    until: ShortText | None = field(default=None, name="to")
    repeats_of: Seq | None = None


class EventQuery(EventFilter):
    """Filters for events, the cursor and the page size."""

    cursor: str | None = None
    limit: Limit = 50


@public_shape(EventGroup)
class EventGroupOut(Struct):
    """Repeated events of one service; `session_id` is the last session that reported one."""


EventGroupPage = page_of(EventGroupOut, "A page of groups, most recent first.")


class DensityQuery(EventFilter):
    """Filters for events, and the maximum number of intervals."""

    buckets: Annotated[int, Meta(ge=2, le=300)] = 60


class EventIntervalOut(Struct):
    """The number of events of each level in the interval that begins `at`."""

    at: str
    info: int
    warning: int
    critical: int


class EventDensityOut(Struct):
    """The number of events over time, in intervals of `seconds`."""

    seconds: int
    total: int
    stretches: list[EventIntervalOut]
    seq: int


class EventIn(Struct):
    """An event that an operator creates."""

    level: Level
    text: Annotated[str, Meta(min_length=1, max_length=2000, pattern=r"\S")]
    service: Name | None = None
