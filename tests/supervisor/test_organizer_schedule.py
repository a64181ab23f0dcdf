"""The supervisor runs the organizer on its schedule, and a run that a person queued."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contexts import context
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.organize import runs
from lamplighter.supervisor.beside import OrganizerSchedule
from lamplighter.usecases.organize import view
from lamplighter.usecases.organize.run import queue

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
EPISODE = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="Looked at the image cache",
    tier=0,
    session_id=None,
    source=Source.CAPTURED,
)


def schedule(db: Database, now: datetime, hours: float | None = 6) -> OrganizerSchedule:
    interval = None if hours is None else hours * HOUR
    return OrganizerSchedule(context(db, now), interval, Services)


async def captured(db: Database, text: str = "Looked at the image cache") -> None:
    async with writing(db):
        await memories.insert(db, replace(EPISODE, observation=text), now=NOON - 240 * HOUR)


async def test_organizer_starts_with_the_first_memory_and_then_by_its_interval(
    db: Database,
) -> None:
    assert not await schedule(db, NOON).step()
    await captured(db)
    assert await schedule(db, NOON).step()
    await captured(db, "Rotated the keys of the mailer")
    assert not await schedule(db, NOON + HOUR).step()
    assert await schedule(db, NOON + 6 * HOUR).step()

    found = (await runs.page(db, limit=9)).items
    assert [each.counts["compressed"] for each in found] == [1, 1]
    assert {each.trigger for each in found} == {"schedule"}


async def test_queued_organizer_run_needs_no_interval(db: Database) -> None:
    await captured(db)
    assert not await schedule(db, NOON, None).step()
    queued = await queue(db, now=NOON)
    assert (await queue(db, now=NOON)).id == queued.id

    assert await schedule(db, NOON, None).step()

    done = await view.get(db, queued.id)
    assert (done.state, done.trigger, done.counts["compressed"]) == ("completed", "operator", 1)


async def test_organizer_waits_for_a_queued_run_after_an_undo(db: Database) -> None:
    await captured(db)
    await schedule(db, NOON).step()
    await view.undo(db, 1, now=NOON)

    assert not await schedule(db, NOON + 99 * HOUR).step()
    await queue(db, now=NOON + 99 * HOUR)
    assert await schedule(db, NOON + 99 * HOUR).step()
    await captured(db, "Rotated the keys of the mailer")
    assert await schedule(db, NOON + 106 * HOUR).step()
