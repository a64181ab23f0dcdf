"""Queries on devices, which receive notifications."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Device
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import devices, reader


async def insert(db: Database, *, now: datetime, **values: Any) -> Device:
    """Store a device; an earlier device with the same endpoint is replaced."""
    await db.execute(sa.delete(devices).where(devices.c.endpoint == values["endpoint"]))
    statement = sa.insert(devices).values(**values, created_at=now, problem="").returning(devices)
    return _device(await db.fetch_one(statement))


async def list_all(db: Database) -> list[Device]:
    """Return all devices, in the order of their subscription."""
    return [_device(row) for row in await db.fetch_all(sa.select(devices).order_by(devices.c.id))]


async def get(db: Database, device_id: int) -> Device | None:
    """Return one device."""
    return await db.fetch_first(sa.select(devices).where(devices.c.id == device_id), _device)


async def update(db: Database, device_id: int, **values: Any) -> None:
    """Store the result of the last message to a device."""
    await db.execute(sa.update(devices).where(devices.c.id == device_id).values(**values))


async def remove(db: Database, device_id: int) -> None:
    """Remove a device."""
    await db.execute(sa.delete(devices).where(devices.c.id == device_id))


_device: Final = reader(Device)
