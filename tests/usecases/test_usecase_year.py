"""A home's stored rows grow with its retention, not its age: the short form of `make soak`."""

from dataclasses import replace
from datetime import timedelta

from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import Database, writing
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.store import changes
from lamplighter.repository.upkeep import pruning
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.system.retention import fold_rounds
from simulated_year import DAY, START, Life, live, rows_to_store, stored_rows

LIFE = Life(
    days=8,
    services=2,
    interval=timedelta(minutes=20),
    round_every=timedelta(hours=4),
    events_a_day=2,
    memories_a_day=1,
)
RESULTS = CheckRetention(points=DAY, fine=2 * DAY, daily=6 * DAY)
RETENTION = Retention(changes=DAY, rounds=2 * DAY, sessions=4 * DAY, events=3 * DAY)


async def test_stored_rows_grow_with_the_retention_only(db: Database) -> None:
    await live(db, LIFE, RESULTS, RETENTION)

    assert await stored_rows(db) == rows_to_store(LIFE, RESULTS, RETENTION)


async def test_event_groups_start_with_the_first_remaining_event(db: Database) -> None:
    async with writing(db):
        for day, text in enumerate(("Slow", "Slow", "Failed", "Slow")):
            await events.insert(db, Level.INFO, text, source="operator", now=START + day * DAY)

    await pruning.prune_events(db, before=START + DAY)

    groups = await events.page_groups(db, EventSelection(), limit=9)
    assert groups == await events.page_groups(db, EventSelection(since=START), limit=9)


async def test_folded_rounds_record_one_batch_change(db: Database) -> None:
    await live(db, replace(LIFE, days=1), RESULTS, Retention(rounds=None))
    before = await changes.last_seq(db)

    assert await fold_rounds(db, before=START + DAY, now=START + DAY) == 5

    removed, kept = await changes.list_after(db, before)
    assert (removed.op, removed.row) == ("batch", {"ids": [1, 2, 3, 4, 5], "op": "deleted"})
    assert (kept.op, kept.entity_id) == ("updated", 6)
