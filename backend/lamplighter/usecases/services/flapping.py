"""Flapping: a service fails again and again although each repair works."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import is_same_service
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns, incidents
from lamplighter.repository.sessions import escalations

WINDOW: Final = timedelta(hours=24)
FLAPPED_WITHIN: Final = timedelta(hours=1)
"""How long a service is not repaired after it failed and recovered by itself repeatedly."""


async def objection(
    db: Database, service: str, failing: Iterable[str], *, limit: int, now: datetime
) -> str:
    """Return why a service fails too often for another repair; empty if it does not.

    A service that repeatedly recovers by itself needs a person too. Failures before the last act of
    a person on the service do not count.
    """
    if not limit:
        return ""
    start = now - WINDOW
    uses = [
        use
        for use in await cooldowns.uses_since(db, start)
        if is_same_service(use.service, service)
    ]
    resets = [use.cleared_at for use in uses if use.cleared_by == cooldowns.OPERATOR]
    handled = await escalations.handled_at(db, service)
    start = max([start, *filter(None, [*resets, handled])])
    recent = max(start, now - FLAPPED_WITHIN)
    if flapped := await incidents.last_flapping(db, service, start=recent):
        return f"it kept failing and recovering by itself at {flapped:%H:%M} UTC"
    repaired = [use for use in uses if use.outcome is UseOutcome.SUCCESS and use.created_at > start]
    if len(repaired) < limit - 1:
        return ""
    for name in failing:
        count = await checks.failures(db, service, name, start=start)
        if count >= limit:
            return f"{name} failed {count} times in 24 h although each repair worked"
    return ""
