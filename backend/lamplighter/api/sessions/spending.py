"""Spending caps of model sessions, and the spending of the last 24 hours."""

from collections.abc import Sequence
from math import fsum
from typing import Any

from lamplighter.api.context import ApiContext
from lamplighter.domain.sessions.cost import DAY, Charge
from lamplighter.repository.sessions import sessions


async def spending_status(here: ApiContext) -> dict[str, Any]:
    """Return the caps as JSON, with the spending of the last 24 hours."""
    return as_json(here, await sessions.charges_since(here.db, here.now() - DAY))


def as_json(here: ApiContext, charged: Sequence[Charge]) -> dict[str, Any]:
    """Return the caps as JSON, with the sum of the charges of the last 24 hours."""
    return {
        "session": here.active.caps.session,
        "chain": here.active.caps.chain,
        "day": here.active.caps.day,
        "day_spent": round(fsum(each.dollars for each in charged), 6),
    }
