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
from lamplighter.repository.store.statements import Rows, newest_value
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
    stored = await _rows.store(
        db, at=now, trigger=trigger, figures=made.stored_figures(), compared_at=compared_at
    )
    await db.execute(sa.delete(memory_health).where(memory_health.c.id <= stored.id - MOST_STORED))
    return stored


async def newest(db: Database, *, limit: int = 1) -> list[MemoryMeasurement]:
    """Return the newest measurements, newest first."""
    return await _rows.newest(db, limit=limit)


async def last_scheduled(db: Database) -> datetime | None:
    """Return when the last scheduled measurement was made."""
    scheduled = memory_health.c.trigger == MeasurementTrigger.SCHEDULE
    return await newest_value(db, memory_health.c.at, scheduled)


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


_rows: Final = Rows(memory_health, _read)
