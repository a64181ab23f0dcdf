"""Events reported by a person, a program or a session, and their density over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.learning.changes import change_of
from lamplighter.domain.memory.admit import validate_service
from lamplighter.domain.services.density import MONDAY, TimeAxis, choose_axis, count_by_level
from lamplighter.domain.services.event import Event, Level
from lamplighter.domain.text import one_line
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.context import Context


async def report(
    here: Context,
    level: Level,
    text: str,
    *,
    service: str | None,
    services: Sequence[str] = (),
    session_id: int | None = None,
) -> Event:
    """Record an event of an operator or of a session; Invalid names each wrong field."""
    wrong: list[InvalidField] = []
    service = validate_service(service, wrong)
    text = one_line(here.redact(text))
    if not text:
        wrong.append(InvalidField("text", "must not be empty"))
    if wrong:
        raise Invalid(*wrong)
    async with writing(here.db):
        service = await service_name(here.db, service, services)
        session = None if session_id is None else await sessions.get(here.db, session_id)
        return await events.insert(
            here.db,
            level,
            text,
            service=service,
            source="operator" if session is None else "session",
            change=(change_of(text) or "") if service and session is None else "",
            session_id=session.id if session else None,
            tier=session.tier if session else 0,
            now=here.now(),
        )


@dataclass(frozen=True, slots=True)
class EventDensity:
    """The number of events of each level in each interval of time."""

    axis: TimeAxis | None
    counts: tuple[dict[Level, int], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the density as JSON."""
        begins = self.axis.moments() if self.axis else []
        return {
            "seconds": self.axis.seconds if self.axis else 0,
            "total": sum(sum(each.values()) for each in self.counts),
            "stretches": [
                {"at": serialize.format_moment(at), **counts}
                for at, counts in zip(begins, self.counts, strict=True)
            ],
        }


async def density(
    db: Database, selection: EventSelection, *, most: int, now: datetime
) -> EventDensity:
    """Count events over time in at most `most` intervals.

    The range is the requested one; by default it reaches from the first stored event, whatever the
    other filters are, to now.
    """
    async with reading(db):
        held = await events.extent(db)
        if held is None:
            return EventDensity(None)
        since = max(selection.since or held[0], MONDAY)
        until = selection.until or max(now, held[1] + timedelta(microseconds=1))
        along = choose_axis(since, max(since, until), most=most)
        counts = await events.count_by_time(db, selection, along.unit)
    return EventDensity(along, tuple(count_by_level(counts, along)))
