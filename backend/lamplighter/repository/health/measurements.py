"""The stored measurements of the memory's health."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.health.figures import (
    MeasurementTrigger,
    MemoryFigures,
    MemoryMeasurement,
    figures_from,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import memory_health

MOST_STORED: Final = 500
"""The maximum number of measurements; older measurements are deleted."""


async def insert(
    db: Database,
    figures: MemoryFigures,
    *,
    trigger: MeasurementTrigger,
    compared_at: datetime | None,
    now: datetime,
) -> MemoryMeasurement:
    """Store a measurement, and delete the oldest beyond the limit; call it within `writing`."""
    made = MemoryMeasurement(
        id=0, at=now, trigger=trigger, figures=figures, compared_at=compared_at
    )
    statement = (
        sa.insert(memory_health)
        .values(at=now, trigger=trigger, figures=made.stored_figures(), compared_at=compared_at)
        .returning(memory_health)
    )
    stored = _read(await db.fetch_one(statement))
    await db.execute(sa.delete(memory_health).where(memory_health.c.id <= stored.id - MOST_STORED))
    return stored


async def newest(db: Database, *, limit: int = 1) -> list[MemoryMeasurement]:
    """Return the newest measurements, newest first."""
    query = sa.select(memory_health).order_by(memory_health.c.id.desc()).limit(limit)
    return [_read(row) for row in await db.fetch_all(query)]


async def last_scheduled(db: Database) -> datetime | None:
    """Return when the last scheduled measurement was made."""
    query = sa.select(memory_health.c.at).where(
        memory_health.c.trigger == MeasurementTrigger.SCHEDULE
    )
    found: datetime | None = await db.fetch_val(query.order_by(memory_health.c.id.desc()).limit(1))
    return found


async def last_cycle(db: Database) -> datetime | None:
    """Return when drift last queued memories to verify."""
    found = await newest(db, limit=MOST_STORED)
    return next((each.at for each in found if each.figures.queued), None)


def _read(row: Any) -> MemoryMeasurement:
    return MemoryMeasurement(
        id=row["id"],
        at=row["at"],
        trigger=MeasurementTrigger(row["trigger"]),
        figures=figures_from(row["figures"]),
        compared_at=row["compared_at"],
    )
