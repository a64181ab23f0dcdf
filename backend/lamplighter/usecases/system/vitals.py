"""Vitals: the signs that only the database can show, gathered and judged."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.services import vitals as rules
from lamplighter.domain.services.vitals import STALE_AFTER, VitalSign, VitalStatus
from lamplighter.repository import Database, reading
from lamplighter.repository.services import notices
from lamplighter.repository.upkeep import leases, migrate, vitals
from lamplighter.usecases.sessions.halt import HaltControl

NOTICES_SHOWN: Final = timedelta(days=7)


async def quick_signs(db: Database, halt_control: HaltControl, *, now: datetime) -> list[VitalSign]:
    """Return the signs that cost next to nothing to look at."""
    async with reading(db):
        halt = await halt_control.pulled(db)
        leader = await leases.get(db)
        count, oldest = await vitals.queue_length(db)
        size = await vitals.size(db)
        return [
            rules.judge_halt(*(halt.description, halt_control.release(halt)) if halt else ("", "")),
            rules.judge_heartbeat(leader, now=now),
            rules.judge_timer(leader, halted=halt is not None, now=now),
            rules.judge_requests(count, oldest, now=now),
            VitalSign(
                "database", VitalStatus.OK, f"The database is {size / 2**20:,.1f} MB", figure=size
            ),
            rules.judge_notices(*await notices.count_undelivered(db, since=now - NOTICES_SHOWN)),
            rules.judge_schema(await vitals.revision(db), migrate.head()),
            rules.judge_clock(await vitals.last_change_at(db), now=now),
        ]


async def memory_signs(db: Database, *, now: datetime) -> list[VitalSign]:
    """Return the signs of the memories; every row is read for them, so ask seldom."""
    async with reading(db):
        return rules.judge_memories(await vitals.count_memories(db, stale_before=now - STALE_AFTER))
