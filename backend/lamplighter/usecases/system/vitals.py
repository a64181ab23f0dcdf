"""Vitals: the signs that only the database can show, gathered and judged."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services import vitals as rules
from lamplighter.domain.services.vitals import STALE_AFTER, Condition, Sign
from lamplighter.repository import Database, reading
from lamplighter.repository.services import notices
from lamplighter.repository.upkeep import leases, migrate, vitals
from lamplighter.usecases.sessions.halt import Brake

NOTICES_SHOWN: Final = timedelta(days=7)


async def at_once(db: Database, brake: Brake, *, now: datetime) -> list[Sign]:
    """Return the signs that cost next to nothing to look at."""
    async with reading(db):
        halt = await brake.pulled(db)
        leader = await leases.get(db)
        count, oldest = await vitals.waiting(db)
        size = await vitals.size(db)
        return [
            rules.halted(*(halt.words, brake.release(halt)) if halt else ("", "")),
            rules.heartbeat(leader, now=now),
            rules.timer(leader, halted=halt is not None, now=now),
            rules.requests(count, oldest, now=now),
            Sign("database", Condition.OK, f"The database is {size / 2**20:,.1f} MB", figure=size),
            rules.notices(*await notices.troubled(db, since=now - NOTICES_SHOWN)),
            rules.schema(await vitals.revision(db), migrate.head()),
            rules.clock(await vitals.newest(db), now=now),
        ]


async def counted(db: Database, *, now: datetime) -> list[Sign]:
    """Return the signs of the memories; every row is read for them, so ask seldom."""
    async with reading(db):
        return rules.beliefs(await vitals.beliefs(db, stale_before=now - STALE_AFTER))
