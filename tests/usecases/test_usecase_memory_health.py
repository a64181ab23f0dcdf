"""The memory's health is measured, stored and, after drift, repaired; both databases."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from benchmarks.neglect import rot_and_repair
from examples import NOON, SLOW_START

from contexts import context, learning
from lamplighter.domain.health.figures import MeasurementTrigger, MemoryFigures, MemoryMeasurement
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, Source
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.health import measurements
from lamplighter.repository.memory import memories
from lamplighter.repository.verify import verifications
from lamplighter.usecases.health import measure as health
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.organize.run import organize

DAY = timedelta(days=1)
EPISODE = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="",
    tier=0,
    session_id=None,
    source=Source.CAPTURED,
)


async def captured(db: Database, text: str, *, days: float = 0, **more: Any) -> Memory:
    async with writing(db):
        return await memories.insert(
            db, replace(EPISODE, observation=text, **more), now=NOON - days * DAY
        )


async def measured(db: Database, *, days: float = 0, **more: Any) -> MemoryMeasurement:
    here = context(db, NOON + days * DAY)
    return await health.measure(here, trigger=MeasurementTrigger.OPERATOR, **more)


async def test_measurement_counts_undistilled_stale_and_duplicate_memories(db: Database) -> None:
    for number in range(3):
        await captured(db, f"Looked at part {number} of the cache", days=8 + number)
    await captured(db, "Rotated the keys of the mailer")
    await captured(db, "The deploy of checkout failed because the disk was full", days=40)
    await captured(db, "The deploy of checkout failed because the disk was full again", days=1)
    for category in (Category.DECISION, Category.TIMING):
        await curate.create(
            context(db, NOON - 31 * DAY),
            replace(SLOW_START, category=category, service=None, source=Source.OPERATOR),
        )

    found = await measured(db)

    assert replace(found.figures, unverified=0) == MemoryFigures(
        active=8,
        undistilled=6,
        distilled=1,
        stale=3,
        episodes=4,
        compared=7,
        duplicates=1,
        removable=1,
    )
    assert found.compared_at == found.at == NOON
    assert (await health.read(db)).newest == found


async def test_organizer_improves_the_figures(db: Database) -> None:
    for seconds in (41, 52, 65):
        await captured(db, f"The build took {seconds} seconds.", days=20)
    before = await measured(db)
    await organize(context(db), trigger="operator")

    after = await measured(db)

    assert (before.figures.undistilled, before.figures.ratio) == (3, 3.0)
    assert (after.figures.undistilled, after.figures.replaced) == (1, 3)
    assert (after.figures.compressed, after.figures.episodes, after.figures.ratio) == (3, 0, 0.33)
    assert [each.id for each in (await health.read(db)).trend] == [before.id, after.id]


async def test_drift_queues_corrected_memories_once_a_week(db: Database) -> None:
    ids = []
    for number in range(5):
        memory = await curate.create(
            context(db), replace(SLOW_START, observation=f"Takes {number + 10}s to start")
        )
        text = Edit(observation=f"Takes {number + 30}s to start")
        await curate.edit(context(db), memory.id, text, version=None)
        ids.append(memory.id)
    corrected_again = Edit(observation="Takes 31s to start")
    await curate.edit(context(db), ids[0], corrected_again, version=None)
    await curate.edit(context(db), ids[0], Edit(confidence=0.9), version=None)
    report = replace(SLOW_START, observation="Takes 500s to start after restart", service="x")
    await remember(learning(db), report, now=NOON)

    found = await measured(db)

    assert (found.figures.corrections, found.figures.drift) == (5, 50)
    assert (found.figures.queued, found.figures.marked) == (5, 5)
    assert found.figures.unverified + found.figures.marked == found.figures.active == 6
    async with reading(db):
        assert await verifications.marked(db, limit=9) == ids
        outcome = await verifications.get(db, ids[0])
    assert outcome is not None
    assert outcome.mark == "the drift score is 50 of 100"
    again = await measured(db, days=6)
    assert again.figures.unverified + again.figures.marked == again.figures.active == 6
    assert (again.figures.queued, again.figures.drift) == (0, 50)
    assert (await measured(db, days=7)).figures.queued == 5
    assert (await measured(db, days=31)).figures.drift == 0


async def test_agreement_lowers_the_drift(db: Database) -> None:
    report = replace(SLOW_START, session_id=None)
    await remember(learning(db), report, now=NOON)
    for number in range(3):
        await remember(learning(db), report, now=NOON + number * DAY)
    unverified = await captured(db, "The proxy listens on port 8096")
    await curate.confirm(db, unverified.id, now=NOON)

    figures = (await measured(db, days=3)).figures

    assert (figures.agreements, figures.contradictions, figures.drift) == (4, 0, 0)


async def test_large_stores_are_compared_only_on_demand(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "QUICK_COMPARISON", 1)
    for end in ("", " again"):
        await captured(db, f"The deploy of checkout failed because the disk was full{end}")

    first = await measured(db)
    compared = await measured(db, days=1, compare=True)
    later = await measured(db, days=2)

    assert (first.compared_at, first.figures.compared) == (None, 0)
    assert (compared.compared_at, compared.figures.density) == (compared.at, 0.5)
    assert (later.compared_at, later.figures.density) == (compared.at, 0.5)


async def test_old_measurements_are_deleted(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "MOST_STORED", 2)
    made = [await measured(db, days=number) for number in range(4)]

    assert [each.id for each in (await health.read(db)).trend] == [each.id for each in made[2:]]


async def test_organizer_and_verification_improve_a_neglected_home(
    db: Database,
) -> None:
    """Three simulated months in brief: the figures of `python -m benchmarks neglect`."""
    found = {step: each.figures for step, each in (await rot_and_repair(db, 240)).items()}

    neglected, organized, verified = found["neglected"], found["organized"], found["verified"]
    assert neglected.density > 0.05
    assert (organized.duplicates, organized.episodes) == (0, 0)
    assert organized.undistilled < 0.7 * neglected.undistilled
    assert organized.ratio < 0.2 * neglected.ratio
    assert neglected.drift > 30
    assert neglected.queued > 0
    assert verified.verified > neglected.verified
    assert verified.unverified + verified.marked < organized.unverified
    assert verified.drift < organized.drift


async def test_calibration_counts_evidence_by_the_confidence_before_it(db: Database) -> None:
    for days, text in enumerate(
        ("Takes 60s to start", "Takes 60s to start", "Takes 600s to start")
    ):
        heard = replace(SLOW_START, observation=text)
        await remember(learning(db), heard, now=NOON + days * DAY)

    found = await health.calibration(db, now=NOON + 2 * DAY)

    assert [(each.low, each.confirmed, each.contradicted) for each in found] == [
        (0.7, 1, 0),
        (0.8, 0, 1),
    ]
    assert await health.calibration(db, now=NOON + 200 * DAY) == ()
