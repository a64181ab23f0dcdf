"""Flapping services: they fail and recover by themselves repeatedly, each time too briefly."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services.incident import (
    FLAPS,
    REOPEN_AFTER,
    Flaps,
    count_failures,
    is_due,
)
from lamplighter.repository import Database
from lamplighter.repository.services import incidents, series
from lamplighter.usecases.services.incidents.steps import FailingChecks

AT_ONCE: Final = 50
"""The most services to look up in one transaction, the longest rested first."""


async def flapping(
    db: Database,
    last_detected: Mapping[str, datetime],
    failing: FailingChecks,
    *,
    now: datetime,
) -> dict[str, Flaps]:
    """Return how often flapping services have failed since the incident before their rest.

    They must be the root of that incident: other members wait for its root. A request to a person
    may be older than the end of that incident, which says that the service is healthy again.
    """
    resting = [name for name, at in last_detected.items() if not is_due(at, now)]
    if not resting:
        return {}
    rooted = await incidents.last_as_root(db, resting, start=now - REOPEN_AFTER)
    own = [name for name in resting if rooted.get(name) == last_detected[name]]
    some = sorted(own, key=lambda name: last_detected[name])[:AT_ONCE]
    spans = {
        each.id: (last_detected[name], now + timedelta(seconds=1))
        for name in some
        for each in failing[name]
    }
    found = await series.all_points(db, spans)
    counts = {
        name: max(count_failures([one.state for one in found[each.id]]) for each in failing[name])
        for name in some
    }
    return {
        name: Flaps(count, last_detected[name], now)
        for name, count in counts.items()
        if count >= FLAPS
    }
