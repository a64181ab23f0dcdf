"""Measurements of the memory: figures from the database, near-duplicates by comparison."""

import asyncio
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.health.calibration import CalibrationGroup, calibrate
from lamplighter.domain.health.figures import (
    WINDOW,
    MeasurementTrigger,
    MemoryFigures,
    MemoryMeasurement,
    is_measurement_due,
    opens_cycle,
)
from lamplighter.domain.organize.duplicates import count_duplicates
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.health import figures, measurements
from lamplighter.repository.organize import runs
from lamplighter.repository.verify import verifications
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.schedule import AGAIN_AFTER, MARKED_AT_ONCE

QUICK_COMPARISON: Final = 5_000
"""The most memories compared within a request; more are compared on the schedule."""

TREND: Final = 60
CALIBRATED: Final = timedelta(days=90)
"""The period whose evidence is compared with confidences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHealth:
    """The newest measurement, None before the first one, and the earlier ones, oldest first."""

    newest: MemoryMeasurement | None
    trend: tuple[MemoryMeasurement, ...]


async def read(db: Database, *, limit: int = TREND) -> MemoryHealth:
    """Return the newest measurement and the trend."""
    async with reading(db):
        found = await measurements.newest(db, limit=limit)
    return MemoryHealth(newest=found[0] if found else None, trend=tuple(reversed(found)))


async def calibration(db: Database, *, now: datetime) -> tuple[CalibrationGroup, ...]:
    """Return the share of recent evidence that confirmed memories, by confidence."""
    async with reading(db):
        return calibrate(await figures.count_evidence(db, start=now - CALIBRATED))


async def is_due(db: Database, interval: timedelta | None, *, now: datetime) -> bool:
    """Return whether a scheduled measurement is due; never without memories."""
    async with reading(db):
        if not is_measurement_due(await measurements.last_scheduled(db), interval, now=now):
            return False
        return await figures.has_memories(db)


async def measure(
    here: Context,
    *,
    trigger: MeasurementTrigger,
    names: frozenset[str] = frozenset(),
    compare: bool = False,
) -> MemoryMeasurement:
    """Measure and store the figures; drift above its limit queues memories to verify.

    Near-duplicates are counted if there are few memories, or with `compare`; otherwise the last
    count stays, with its time. `names` are further names that distinguish two texts, such as
    services.
    """
    db, now = here.db, here.now()
    async with reading(db):
        measured = await _count(db, now=now)
        last = next(iter(await measurements.newest(db)), None)
    compared_at: datetime | None = now
    if compare or measured.undistilled + measured.distilled <= QUICK_COMPARISON:
        measured = await _with_duplicates(db, measured, names)
    else:
        measured, compared_at = _carry_over(measured, last), last.compared_at if last else None
    async with writing(db):
        if opens_cycle(measured.drift, await measurements.last_cycle(db), now=now):
            measured = await _queue_drifting(db, measured, now=now)
        return await measurements.insert(
            db, measured, trigger=trigger, compared_at=compared_at, now=now
        )


async def _count(db: Database, *, now: datetime) -> MemoryFigures:
    start = now - WINDOW
    drift = await figures.count_drift(db, start=start)
    counted = await figures.count_memories(
        db, now=now, unused_before=start, tested_before=now - AGAIN_AFTER
    )
    return MemoryFigures(
        **counted,
        **await figures.count_reviews(db, now=now),
        **await figures.count_organized(db, start=start),
        **asdict(drift),
    )


async def _with_duplicates(
    db: Database, measured: MemoryFigures, names: frozenset[str]
) -> MemoryFigures:
    rows = []
    async for some in runs.active_knowledge(db):
        rows += some
        await asyncio.sleep(0)
    duplicates, removable = await asyncio.to_thread(count_duplicates, rows, names)
    return replace(measured, compared=len(rows), duplicates=duplicates, removable=removable)


def _carry_over(found: MemoryFigures, last: MemoryMeasurement | None) -> MemoryFigures:
    if last is None:
        return found
    old = last.figures
    return replace(found, compared=old.compared, duplicates=old.duplicates, removable=old.removable)


async def _queue_drifting(db: Database, stats: MemoryFigures, *, now: datetime) -> MemoryFigures:
    ids = await figures.list_drifting(db, start=now - WINDOW, limit=MARKED_AT_ONCE)
    reason = f"the drift score is {stats.drift} of 100"
    unmarked = {*ids} - await verifications.marked_among(db, ids)
    due = await verifications.due_among(db, unmarked, before=now - AGAIN_AFTER)
    await verifications.mark(db, ids, reason, now=now)
    return replace(
        stats,
        queued=len(ids),
        marked=stats.marked + len(unmarked),
        unverified=stats.unverified - len(due),
    )
