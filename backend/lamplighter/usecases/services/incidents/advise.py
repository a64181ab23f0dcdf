"""Advice: the evidence of outcomes for and against the actions of a failing service.

An outcome counts for the configuration and the deployment of its time: changes of services are
recorded as events.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from lamplighter import __version__
from lamplighter.domain.learning.advice import RepairAdvice, advise, configuration_key
from lamplighter.domain.learning.changes import BEFORE, ChangeBefore, ServiceChange
from lamplighter.domain.learning.facts import LearnedFact
from lamplighter.domain.learning.outcome import OutcomeRecord
from lamplighter.domain.learning.signature import signatures_of
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import Incident, IncidentSource
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import cooldowns, events, incidents, outcomes

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


async def open_evidence(db: Database, service: str) -> str:
    """Return the failing checks at the start of a root cause's open incident; empty without one."""
    for incident in await incidents.live(db):
        if incident.service == service and incident.source is IncidentSource.CHECK:
            return await root_evidence(db, incident)
    return ""


async def root_evidence(db: Database, incident: Incident) -> str:
    """Return the failing checks of an incident's root cause, as first reported."""
    members = await incidents.members_of(db, incident.id)
    return next((each.detail for each in members if each.service == incident.service), "")


async def has_known_fix(
    db: Database, service: Service | None, evidence: str, *, now: datetime
) -> bool:
    """Whether an action is known to repair a failure, and its cooldown allows it now."""
    found = await advice_on(db, service, evidence, now=now)
    if service is None or found.fix is None:
        return False
    fix = found.fix.action
    kind = next((each.kind for each in service.actions if each.name == fix), None)
    used = await cooldowns.usage_of(db, [service.name], now=now)
    return any(each.free for each in used[service.name] if each.action is kind)


async def advice_on(
    db: Database, service: Service | None, evidence: str, *, now: datetime
) -> RepairAdvice:
    """Return the evidence on each action of a service against a failure, one line each."""
    if service is None or not service.actions:
        return RepairAdvice()
    facts = await outcomes.facts_of(db, service.name)
    if not facts:
        return RepairAdvice()
    records = await outcomes.of_service(db, service.name)
    return await advice_from(db, service, evidence, records, facts, at=now)


async def advice_from(
    db: Database,
    service: Service,
    evidence: str,
    records: Sequence[OutcomeRecord],
    facts: Sequence[LearnedFact],
    *,
    configured: str | None = None,
    at: datetime,
) -> RepairAdvice:
    """Return the evidence of outcomes and facts on each action, as of the version at a time."""
    held = await memories.by_ids(db, [MemoryId(each.memory_id) for each in facts])
    return advise(
        service,
        signatures_of(service.name, evidence),
        records,
        [(each, held.get(MemoryId(each.memory_id))) for each in facts],
        deployed=await version_of(db, service.name, before=at),
        configured=configured,
    )
