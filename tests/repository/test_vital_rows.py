"""The figures of the database itself, on both databases."""

from datetime import UTC, datetime, timedelta

from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import requests
from lamplighter.repository.store.database import revision_of
from lamplighter.repository.upkeep import migrate, vitals

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


async def kept(db: Database, text: str) -> None:
    candidate = Candidate(
        category=Category.TIMING, service="web", observation=text, tier=1, session_id=None
    )
    async with writing(db):
        await memories.insert(db, candidate, now=NOON)


async def test_vitals_report_size_revision_queue_and_last_change(db: Database) -> None:
    assert await vitals.size(db) > 100_000
    assert await revision_of(db) == migrate.newest_revision()
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
