"""Vital signs that only the database can show, gathered and judged."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.services import vitals as rules
from lamplighter.domain.services.vitals import VitalSign, VitalStatus
from lamplighter.repository import Database, reading
from lamplighter.repository.services import notices
from lamplighter.repository.store.database import revision_of
from lamplighter.repository.upkeep import leases, migrate, vitals
from lamplighter.usecases.health import measure as health
from lamplighter.usecases.sessions.halt import HaltControl

NOTICES_SHOWN: Final = timedelta(days=7)


async def quick_signs(db: Database, halt_control: HaltControl, *, now: datetime) -> list[VitalSign]:
    """Return the vital signs that are cheap to determine."""
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
            rules.judge_schema(await revision_of(db), migrate.newest_revision()),
            rules.judge_clock(await vitals.last_change_at(db), now=now),
            await memory_sign(db),
        ]


async def memory_sign(db: Database) -> VitalSign:
    """Return the vital sign of the last measurement of the memory, at worst a warning."""
    newest = (await health.read(db, limit=1)).newest
    if newest is None:
        text = "The memory has not been measured yet; `lamplighter health` measures it"
        return VitalSign("memory", VitalStatus.UNKNOWN, text)
    missed = [each for each in judge_figures(newest.figures) if each.state is not VitalStatus.OK]
    if not missed:
        return VitalSign("memory", VitalStatus.OK, "The memory meets its goals", figure=0)
    text = "; ".join(f"{each.text} (goal: {each.goal})" for each in missed)
    advice = "See the section Memory of the Health page, or run `lamplighter health`."
    return VitalSign("memory", VitalStatus.WARNING, text, advice, len(missed))
