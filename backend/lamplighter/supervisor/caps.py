"""What a session may cost, before it begins: told by what the rows say was spent."""

from datetime import datetime

from lamplighter.domain.caps import DAY, Allowance, Caps, allowance
from lamplighter.domain.session import Plan
from lamplighter.engines import Engine, Trait
from lamplighter.repository import Database, reading, spending
from lamplighter.usecases import chain


async def left(db: Database, caps: Caps, plan: Plan, engine: Engine, *, now: datetime) -> Allowance:
    """Return what is left for a session of this plan.

    An engine without a model begins in any case: it costs nothing unless it says so.
    """
    async with reading(db):
        before = await chain.lineage(db, plan.parent_id) if plan.parent_id else []
        spent = await spending.of(db, before)
        today = await spending.since(db, now - DAY)
    found = allowance(caps, chain=spent, day=today, now=now)
    return found if Trait.MODEL in engine.traits else Allowance(found.budget_usd)
