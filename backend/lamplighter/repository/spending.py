"""Queries on what sessions cost.

A cost that is not known counts as the session's budget: what was spent must never
look like less because a process was killed, or a model has no price.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.caps import Charge
from lamplighter.repository.database import Database
from lamplighter.repository.tables import sessions

_COUNTED: Final = sa.func.coalesce(sessions.c.cost_usd, sessions.c.budget_usd, 0.0)


async def of(db: Database, ids: Sequence[int]) -> float:
    """Return how many dollars some sessions count for."""
    if not ids:
        return 0.0
    query = sa.select(sa.func.sum(_COUNTED)).where(sessions.c.id.in_(ids))
    return float(await db.fetch_val(query) or 0.0)


async def since(db: Database, at: datetime) -> list[Charge]:
    """Return what each session since a moment counts for, oldest first; none that cost nothing."""
    query = (
        sa.select(sessions.c.started_at, _COUNTED.label("dollars"))
        .where(sessions.c.started_at > at)
        .where(_COUNTED > 0)
        .order_by(sessions.c.started_at, sessions.c.id)
    )
    rows = await db.fetch_all(query)
    return [Charge(row["started_at"], float(row["dollars"])) for row in rows]
