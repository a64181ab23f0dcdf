"""What a home stores grows with its retention, not with its age: the short form of `make soak`."""

from datetime import timedelta

import sqlalchemy as sa

from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import Database
from lamplighter.repository.store import tables
from lamplighter.usecases.services.check_folding import CheckRetention
from simulated_year import DAY, Life, live

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


async def test_a_long_life_stores_what_its_retention_covers(db: Database) -> None:
    await live(db, LIFE, RESULTS, RETENTION)

    counts = {}
    for name in ("check_points", "check_aggregates", "sessions", "prompts", "events", "memories"):
        table = sa.select(sa.func.count()).select_from(tables.metadata.tables[name])
        counts[name] = await db.fetch_val(table)
    results_a_day = 72 * LIFE.services
    assert 0.9 * results_a_day <= counts.pop("check_points") <= 2.1 * results_a_day
    fine_and_daily = 2 * results_a_day + 6 * LIFE.services
    assert 0.9 * fine_and_daily <= counts.pop("check_aggregates") <= 1.2 * fine_and_daily
    assert counts == {
        "sessions": 6 + 2 * 6,  # days that are one row, and those that are not folded yet
        "prompts": 2 + 2 * 6,
        "events": 3 * 2,
        "memories": 8,
    }
    assert await db.fetch_val(sa.select(sa.func.sum(tables.sessions.c.rounds))) == 8 * 6
