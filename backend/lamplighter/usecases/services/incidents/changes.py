"""Changes of services: recorded as events, and the last change before a failure."""

from datetime import datetime
from typing import Final

from lamplighter import __version__
from lamplighter.domain.learning.advice import configuration_key
from lamplighter.domain.learning.changes import BEFORE, ChangeBefore, ServiceChange
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import cooldowns, events, outcomes

SOURCE: Final = "configuration"
OF_VERSION: Final = (ServiceChange.DEPLOYMENT, ServiceChange.CONFIGURATION)
"""Changes that are not part of the declaration of a service."""


async def record_declarations(db: Database, services: Services, *, now: datetime) -> list[str]:
    """Record an event for each service whose declaration has changed; return their names.

    The last declarations are stored, to detect changes while no supervisor ran. Another version of
    Lamplighter may read the same declaration differently: that is not a change.
    """
    async with reading(db):
        before = await outcomes.declared(db)
    keys = {each.name: f"{__version__} {configuration_key(each)}" for each in services}
    new = {name: key for name, key in keys.items() if before.get(name) != key}
    changed = [name for name in new if before.get(name, "").startswith(f"{__version__} ")]
    if new:
        async with writing(db):
            await outcomes.put_declared(db, new)
            for name in changed:
                await events.insert(
                    db,
                    Level.INFO,
                    f"The declaration of {name} in services.yaml has changed",
                    service=name,
                    source=SOURCE,
                    change=ServiceChange.DECLARATION,
                    now=now,
                )
    return changed


async def change_before(
    db: Database, services: Services, name: str, at: datetime
) -> ChangeBefore | None:
    """Return the last change of a service or of its dependencies shortly before a failure."""
    service = services.find(name)
    names = [each.name for each in services.with_needs([service])] if service else [name]
    event = await events.last_change(db, names, start=at - BEFORE, until=at)
    if event is None or event.service is None:
        return None
    return ChangeBefore(
        kind=ServiceChange(event.change),
        service=event.service,
        text=event.text,
        at=event.created_at,
        seconds=(at - event.created_at).total_seconds(),
        event_id=event.id,
    )


async def version_of(db: Database, service: str, *, before: datetime) -> str | None:
    """Return an ID of a service's version at a time: its last deployment, if any."""
    use = await cooldowns.last_deployment(db, service, before=before)
    event = await events.last_change(db, [service], kinds=OF_VERSION, until=before)
    if event is not None and (use is None or event.created_at > use.created_at):
        return f"e{event.id}"
    return None if use is None else str(use.id)
