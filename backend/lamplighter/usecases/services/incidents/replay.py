"""Replay: the decision on a past incident with other memories."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from lamplighter.domain.errors import NotFound
from lamplighter.domain.learning.advice import ActionEvidence, RepairAdvice
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.service import Service, Services
from lamplighter.formats.serialize import incident as as_incident
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import outcomes
from lamplighter.usecases.services.incidents import view
from lamplighter.usecases.services.incidents.advise import advice_from, root_evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """The memories to use: those from before the incident, or with `today` the current ones.

    `without` are left out, as if they had never been learned.
    """

    without: Collection[int] = ()
    today: bool = False


async def replay(
    db: Database, services: Services, number: int, options: ReplayOptions
) -> dict[str, Any]:
    """Repeat the decision on a recorded incident; raises NotFound for it or an unknown memory.

    The decision is that of the supervisor, with the evidence, configuration and outcomes at the
    time. Settings, cooldowns and approvals are not replayed.
    """
    incident = await view.get(db, number)
    service = services.find(incident.service)
    known = await memories.by_ids(db, [MemoryId(each) for each in options.without])
    if unknown := [each for each in options.without if each not in known]:
        raise NotFound(f"Memory {unknown[0]} not found.")
    whole = await _advice(db, incident, service, replace(options, without=()))
    chosen = await _advice(db, incident, service, options)
    return {
        "incident": as_incident(incident),
        "decision": _decision(whole, service),
        "without": _decision(chosen, service) if options.without else None,
    }


async def _advice(
    db: Database, incident: Incident, service: Service | None, options: ReplayOptions
) -> RepairAdvice:
    if service is None:
        return RepairAdvice()
    evidence = await root_evidence(db, incident)
    records = [
        each
        for each in await outcomes.of_service(db, service.name)
        if each.incident_id < incident.id or (options.today and each.incident_id != incident.id)
    ]
    facts = [
        each
        for each in await outcomes.facts_of(db, service.name)
        if each.memory_id not in options.without
    ]
    configured = incident.configured or None
    return await advice_from(
        db, service, evidence, records, facts, configured=configured, at=incident.started_at
    )


def _decision(advice: RepairAdvice, service: Service | None) -> dict[str, Any]:
    """Return the first step, and the reason."""
    refused = [_evidence(each) for each in advice.useless.values()]
    if advice.fix is not None:
        begins, why = "known_fix", _evidence(advice.fix)
    elif advice.useless and service is not None and not advice.leaves(service):
        begins, why = "person", None
    else:
        begins, why = "investigation", None
    return {"begins": begins, "fix": why, "refused": refused}


def _evidence(each: ActionEvidence) -> dict[str, Any]:
    return {"action": each.action, "memory_id": each.memory_id, "sentence": each.sentence}
