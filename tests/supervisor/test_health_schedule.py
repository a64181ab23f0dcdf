"""The supervisor measures the memory's health on its schedule, with near-duplicates."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

from contexts import context
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database
from lamplighter.supervisor.beside import HealthSchedule
from lamplighter.usecases.health import measure as health
from lamplighter.usecases.memory import curate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NOTE = Candidate(
    category=Category.DECISION,
    service=None,
    observation="We use NATS for events",
    tier=0,
    session_id=None,
    source=Source.OPERATOR,
)


def schedule(db: Database, now: datetime, days: float | None = 7) -> HealthSchedule:
    return HealthSchedule(context(db, now), None if days is None else days * DAY, Services)


async def test_memory_health_is_measured_weekly_if_there_are_memories(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "QUICK_COMPARISON", 0)
    assert not await schedule(db, NOON).step()
    await curate.create(context(db), NOTE)
    assert not await schedule(db, NOON, None).step()

    with caplog.at_level(logging.WARNING):
        assert await schedule(db, NOON).step()
        assert not await schedule(db, NOON + 6 * DAY).step()
        assert await schedule(db, NOON + 7 * DAY).step()

    found = await health.read(db)
    assert [(each.trigger, each.compared_at) for each in found.trend] == [
        ("schedule", NOON),
        ("schedule", NOON + 7 * DAY),
    ]
    assert not caplog.records
