"""Advice: the evidence of outcomes for and against the actions of a failing service."""

from datetime import datetime

from lamplighter.domain.learning.advice import RepairAdvice, advise
from lamplighter.domain.learning.signature import signatures_of
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.services.incident import IncidentSource
from lamplighter.domain.services.service import Service
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import cooldowns, incidents, outcomes
from lamplighter.usecases.services.incidents import changes


async def open_evidence(db: Database, service: str) -> str:
    """Return the failing checks at the start of a root cause's open incident; empty without one."""
    for incident in await incidents.live(db):
        if incident.service == service and incident.source is IncidentSource.CHECK:
            for each in (await incidents.members(db, [incident.id]))[incident.id]:
                if each.service == service:
                    return each.detail
    return ""


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
    held = await memories.by_ids(db, [MemoryId(each.memory_id) for each in facts])
    return advise(
        service,
        signatures_of(service.name, evidence),
        await outcomes.of_service(db, service.name),
        [(each, held.get(MemoryId(each.memory_id))) for each in facts],
        deployed=await changes.version_of(db, service.name, before=now),
    )
