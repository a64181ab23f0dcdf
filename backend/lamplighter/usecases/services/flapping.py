"""Flapping: a service that fails again and again although each repair works."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns
from lamplighter.repository.sessions import escalations

WINDOW: Final = timedelta(hours=24)


async def objection(
    db: Database, service: str, failing: Iterable[str], *, limit: int, now: datetime
) -> str:
    """Say which failing check came back too often for another repair; empty when none did.

    What lies before the last act of a person on the service does not count.
    """
    if not limit:
        return ""
    since = now - WINDOW
    uses = [
        use
        for use in await cooldowns.uses_since(db, since)
        if normalize_service_name(use.service) == normalize_service_name(service)
    ]
    resets = [use.cleared_at for use in uses if use.cleared_by == cooldowns.OPERATOR]
    handled = await escalations.handled_at(db, service)
    since = max([since, *filter(None, [*resets, handled])])
    repaired = [use for use in uses if use.outcome is UseOutcome.SUCCESS and use.created_at > since]
    if len(repaired) < limit - 1:
        return ""
    for name in failing:
        count = await checks.failures(db, service, name, since=since)
        if count >= limit:
            return f"{name} failed {count} times in 24 h although each repair worked"
    return ""
