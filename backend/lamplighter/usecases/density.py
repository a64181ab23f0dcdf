"""Density: how many events there were when, for whoever looks for where it happened."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lamplighter.domain import plain
from lamplighter.domain.density import MONDAY, Axis, axis, spread
from lamplighter.domain.event import Level
from lamplighter.repository import Database, event_counts, reading
from lamplighter.repository.events import Filter


@dataclass(frozen=True, slots=True)
class Density:
    """How many events of each level fell into each stretch of time."""

    axis: Axis | None
    counts: tuple[dict[Level, int], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        begins = self.axis.moments() if self.axis else []
        return {
            "seconds": self.axis.seconds if self.axis else 0,
            "total": sum(sum(each.values()) for each in self.counts),
            "stretches": [
                {"at": plain.at(at), **counts}
                for at, counts in zip(begins, self.counts, strict=True)
            ],
        }


async def density(db: Database, wanted: Filter, *, most: int, now: datetime) -> Density:
    """Count events along time in at most `most` stretches.

    The range is the one asked for; what is left open of it reaches from the first
    event that we hold, whatever else is asked for, to now.
    """
    async with reading(db):
        held = await event_counts.extent(db)
        if held is None:
            return Density(None)
        since = max(wanted.since or held[0], MONDAY)
        until = wanted.until or max(now, held[1] + timedelta(microseconds=1))
        along = axis(since, max(since, until), most=most)
        counts = await event_counts.density(db, wanted, along.unit)
    return Density(along, tuple(spread(counts, along)))
