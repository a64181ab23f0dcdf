"""Devices: browsers that are subscribed to notifications, added and removed."""

from datetime import datetime

from lamplighter.domain.access.access import Device
from lamplighter.domain.access.device import MAX_DEVICES, Subscription, endpoint_host, validate_keys
from lamplighter.domain.errors import Conflict, require
from lamplighter.repository import Database, writing
from lamplighter.repository.access import devices
from lamplighter.usecases.access.recording import record_act


async def subscribe(
    db: Database,
    *,
    subscription: Subscription,
    key: str,
    name: str,
    login_id: int,
    now: datetime,
) -> Device:
    """Subscribe a device; raises Invalid, and Conflict if there are already `MAX_DEVICES` others.

    A device whose endpoint the browser has replaced keeps its ID.
    """
    endpoint, replaces = subscription.endpoint, subscription.replaces
    host = endpoint_host(endpoint)
    validate_keys(subscription.p256dh, subscription.auth)
    async with writing(db):
        known = {each.endpoint: each for each in await devices.list_all(db)}
        former = known.get(replaces or "")
        if former is not None:
            await devices.remove(db, former.id)
        others = [each for each in known.values() if each.endpoint not in (endpoint, replaces)]
        if len(others) >= MAX_DEVICES:
            raise Conflict(f"{MAX_DEVICES} devices are subscribed. Remove one first.")
        device = await devices.insert(
            db,
            name=name,
            host=host,
            endpoint=endpoint,
            p256dh=subscription.p256dh,
            auth=subscription.auth,
            key=key,
            login_id=login_id,
            now=now,
            **({} if former is None else {"id": former.id}),
        )
        await record_act(db, "subscribe", name, now=now)
    return device


async def remove(db: Database, device_id: int, *, now: datetime) -> None:
    """Remove a device; raises NotFound."""
    async with writing(db):
        device = require(await devices.get(db, device_id), f"Device {device_id} not found.")
        await devices.remove(db, device_id)
        await record_act(db, "unsubscribe", device.name, now=now)
