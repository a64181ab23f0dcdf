"""How much of the cooldowns of services is used."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from lamplighter.domain.services import cooldown
from lamplighter.domain.services.cooldown import (
    LIMITS,
    SPENDING_OUTCOMES,
    CooldownStatus,
    CooldownUse,
)
from lamplighter.domain.services.service import ActionKind, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.services import cooldowns
from lamplighter.repository.store.statements import Fetch

LONGEST_WINDOW: Final = max(limit.window for limit in LIMITS.values())


async def by_service(
    db: Database, names: Sequence[str], *, now: datetime
) -> dict[str, tuple[CooldownStatus, ...]]:
    """Return how much of each cooldown of some services is used, by service."""
    uses = await cooldowns.spent_since(db, now - LONGEST_WINDOW)
    return statuses_of(names, uses, now=now)


def uses_fetch(now: datetime) -> Fetch[list[CooldownUse]]:
    """Return what fetches the uses that can still count."""
    return cooldowns.spent_fetch(now - LONGEST_WINDOW)


def statuses_of(
    names: Sequence[str], uses: Sequence[CooldownUse], *, now: datetime
) -> dict[str, tuple[CooldownStatus, ...]]:
    """Return how much of each cooldown of some services is used, of all uses that can count."""
    return {
        name: tuple(
            cooldown.cooldown_status(name, action, uses_of(name, uses), now=now)
            for action in ActionKind
        )
        for name in names
    }


def uses_of(service: str, uses: Sequence[CooldownUse]) -> list[CooldownUse]:
    """Return a service's uses, in whatever case it was spelled when they were made."""
    return [
        use
        for use in uses
        if normalize_service_name(use.service) == normalize_service_name(service)
        and use.outcome in SPENDING_OUTCOMES
    ]
