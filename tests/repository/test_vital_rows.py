"""The figures of the database itself, on both of them."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Candidate, Category, Memory, Trust
from lamplighter.domain.services.vitals import MemoryCounts
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import requests
from lamplighter.repository.store.tables import exposures, sessions
from lamplighter.repository.store.tables import memories as rows
from lamplighter.repository.upkeep import migrate, vitals

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


async def kept(db: Database, text: str, *, at: datetime = NOON, **more: str) -> Memory:
    candidate = Candidate(
        category=Category.TIMING, service="web", observation=text, tier=1, session_id=None
    )
    async with writing(db):
        memory = await memories.insert(db, candidate, now=at)
        if more:
            await db.execute(sa.update(rows).where(rows.c.id == memory.id).values(**more))
    return memory


async def told(db: Database, memory: Memory, position: int | None) -> None:
    async with writing(db):
        session = await db.fetch_val(
            sa.insert(sessions)
            .values(
                project="ops",
                tier=1,
                engine="probe",
                trigger="timer",
                status="completed",
                reason="",
                prompt="",
                dry_run=False,
                started_at=NOON,
                response="",
                summary="",
                log_offset=0,
                learned=0,
                reinforced=0,
                events=0,
                ignored=0,
                leader_epoch=1,
                version=1,
            )
            .returning(sessions.c.id)
        )
        await db.execute(
            sa.insert(exposures).values(
                session_id=session,
                memory_id=memory.id,
                version=1,
                position=position,
                why="",
                line="",
            )
        )


async def test_beliefs_are_counted_by_what_they_want(db: Database) -> None:
    long_ago = NOON - 31 * DAY
    await kept(db, "takes 60s", at=long_ago)  # told to nobody
    await told(db, await kept(db, "takes 90s", at=long_ago), None)  # nor was this one
    await told(db, await kept(db, "takes 95s", at=long_ago), 1)
    await kept(db, "takes 61s")
    await kept(db, "Takes  61s")
    await kept(db, "takes 61s", trust=Trust.UNVERIFIED)

    found = await vitals.count_memories(db, stale_before=NOON - 30 * DAY)

    assert found == MemoryCounts(active=6, unverified=1, stale=2, repeated=2)


async def test_what_is_inactive_counts_for_nothing(db: Database) -> None:
    memory = await kept(db, "takes 60s", at=NOON - 31 * DAY, trust=Trust.UNVERIFIED)
    async with writing(db):
        await db.execute(sa.update(rows).where(rows.c.id == memory.id).values(active=False))

    assert await vitals.count_memories(db, stale_before=NOON) == MemoryCounts()


async def test_the_database_reports_its_state(db: Database) -> None:
    assert await vitals.size(db) > 100_000
    assert await vitals.revision(db) == migrate.head()
    assert await vitals.last_change_at(db) is None
    assert await vitals.queue_length(db) == (0, None)

    await kept(db, "takes 60s")
    async with writing(db):
        for number in range(2):
            await requests.insert(db, SessionPlan(tier=1), now=NOON + number * DAY)

    assert await vitals.queue_length(db) == (2, NOON)
    assert await vitals.last_change_at(db) == NOON + DAY
    if db.notifies:
        assert (await vitals.server_version(db))[0].isdigit()
