"""Queries on devices, which receive notifications."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Device
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows
from lamplighter.repository.store.tables import devices, reader


async def insert(db: Database, *, now: datetime, **values: Any) -> Device:
    """Store a device; an earlier device with the same endpoint is replaced."""
    await db.execute(sa.delete(devices).where(devices.c.endpoint == values["endpoint"]))
    return await _rows.store(db, **values, created_at=now, problem="")


async def list_all(db: Database) -> list[Device]:
    """Return all devices, in the order of their subscription."""
    return await _rows.oldest(db)


async def get(db: Database, device_id: int) -> Device | None:
    """Return one device."""
    return await _rows.get(db, device_id)


async def update(db: Database, device_id: int, **values: Any) -> None:
    """Store the result of the last message to a device."""
    await db.execute(sa.update(devices).where(devices.c.id == device_id).values(**values))


async def remove(db: Database, device_id: int) -> None:
    """Remove a device."""
    await db.execute(sa.delete(devices).where(devices.c.id == device_id))


_rows: Final = Rows(devices, reader(Device))
