"""The health of the memory and the audit: cases 149, 150, 159 and 176."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contexts import context
from lamplighter.domain.health.figures import MeasurementTrigger, opens_cycle
from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.usecases.health.measure import is_due, measure
from lamplighter.usecases.memory.audit import page_on_topic

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
EPISODE = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="",
    tier=0,
    session_id=None,
    source=Source.CAPTURED,
)


async def fill(db: Database, count: int, source: Source) -> None:
    async with writing(db):
        for number in range(count):
            text = f"Part {number} of {source} is in rack {number + 7}"
            await memories.insert(db, replace(EPISODE, observation=text, source=source), now=NOON)


async def test_110_distinct_memories_100_of_one_source_have_no_duplicates_149(
    db: Database,
) -> None:
    await fill(db, 100, Source.CAPTURED)
    await fill(db, 10, Source.IMPORTED)

    found = await measure(context(db), trigger=MeasurementTrigger.OPERATOR)

    assert (found.figures.compared, found.figures.density) == (110, 0.0)


@pytest.mark.parametrize(("drift", "opens"), [(31, True), (30, False)])
def test_drift_above_30_opens_a_review_cycle_150(drift: int, opens: bool) -> None:
    assert opens_cycle(drift, None, now=NOON) is opens


async def test_audit_returns_every_memory_on_a_topic_159(db: Database) -> None:
    await fill(db, 3, Source.CAPTURED)

    found = await page_on_topic(db, "rack", limit=9)

    assert [(each.memory.source, each.memory.confidence) for each in found.beliefs] == [
        ("captured", 0.7)
    ] * 3
    assert all(each.contradicted.count == each.links.count == 0 for each in found.beliefs)


async def test_memory_health_is_measured_weekly_against_the_goals_of_the_schema_176(
    db: Database,
) -> None:
    await fill(db, 2, Source.CAPTURED)
    assert await is_due(db, WEEK, now=NOON)

    found = await measure(context(db), trigger=MeasurementTrigger.SCHEDULE)

    assert not await is_due(db, WEEK, now=NOON + WEEK - timedelta(hours=1))
    assert await is_due(db, WEEK, now=NOON + WEEK)
    goals = {each.name: each.goal for each in judge_figures(found.figures)}
    assert goals["undistilled"] == "under 1,000"
    assert goals["ratio"] == "at most 1"
    assert goals["duplicates"] == "under 5%"
