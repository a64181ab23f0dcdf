"""Learning from ended incidents: outcome records and memories."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from lamplighter.domain.learning.advice import circumstances_of, configuration_key
from lamplighter.domain.learning.changes import ChangeBefore
from lamplighter.domain.learning.outcome import (
    ActionResult,
    OutcomeActor,
    OutcomeRecord,
    ended_by,
    fails_on,
    result_of,
)
from lamplighter.domain.learning.signature import Signature, failure_key, signatures_of
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.cooldown import SPENDING_OUTCOMES, CooldownUse
from lamplighter.domain.services.incident import (
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentSource,
)
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import exposures
from lamplighter.repository.services import cooldowns, events, incidents, outcomes, series
from lamplighter.repository.sessions import escalations
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import lessons
from lamplighter.usecases.services.incidents.advise import change_before, version_of
from lamplighter.usecases.services.incidents.lessons import EndedIncident

logger = logging.getLogger(__name__)

CAUSE_CHARS: Final = 160

MAX_POINTS: Final = 500


async def learn(here: Context, services: Services, *, fading: bool = True) -> int:
    """Learn from ended incidents; return the number of them.

    Each is one transaction that claims the incident first: after a kill nothing is learned twice.
    """
    async with reading(here.db):
        due = await incidents.unlearned(here.db)
    for incident in due:
        try:
            async with writing(here.db):
                if await incidents.claim_learning(here.db, incident.id, now=here.now()):
                    await _learn_from(here, incident, services, fading=fading)
        except (Error, TimeoutError):
            raise
        except Exception:  # untrusted text: an error must not stop others or the supervisor
            logger.exception("Incident %s teaches nothing", incident.id)
            async with writing(here.db):
                await incidents.claim_learning(here.db, incident.id, now=here.now())
    return len(due)


async def _learn_from(
    here: Context, incident: Incident, services: Services, *, fading: bool
) -> None:
    if incident.outcome is IncidentOutcome.MERGED:
        return
    members = await incidents.members_of(here.db, incident.id)
    ids = await incidents.session_ids(here.db, incident.id)
    records = [
        await outcomes.insert(here.db, each)
        for each in await _records(here.db, incident, members, ids, services)
    ]
    ended = EndedIncident(
        incident=incident,
        members=members,
        records=records,
        history=await outcomes.of_service(here.db, incident.service),
        sessions=ids,
        services=services,
    )
    found = [lesson for kind in lessons.KINDS for lesson in await kind(here.db, ended)]
    for lesson in found:
        await lessons.remember(here, f"incident {incident.id}", lesson, fading=fading)


async def _records(
    db: Database,
    incident: Incident,
    members: Sequence[IncidentMember],
    ids: Sequence[int],
    services: Services,
) -> list[OutcomeRecord]:
    """Return the outcome record of each action of an incident; one record if there was none."""
    change = await change_before(db, services, incident.service, incident.started_at)
    detail = next((each.detail for each in members if each.service == incident.service), "")
    signatures = signatures_of(incident.service, detail or incident.title)
    main, reported = signatures[0], incident.source is not IncidentSource.CHECK
    text = ", ".join(dict.fromkeys(each.evidence for each in signatures))
    ended = incident.resolved_at or incident.detected_at
    record = OutcomeRecord(
        incident_id=incident.id,
        service=incident.service,
        check=main.check,
        failure=main.failure,
        evidence=shorten(text, CAUSE_CHARS),
        exit_code=main.exit_code,
        signatures=(failure_key(signatures, reported=reported),),
        circumstances=incident.configured,
        context=_context(incident, members, services, change),
        target=incident.service,
        result=ActionResult.NONE,
        ended=incident.outcome,
        seconds=max(0.0, round((ended - incident.started_at).total_seconds(), 1)),
        actor=ended_by(incident),
        by_session=ids[-1] if ids else None,
        memories=await _memories(db, ids),
        at=ended,
    )
    asked = await escalations.of_sessions(db, ids) if ids else []
    person = any(each.state in (EscalationState.PERSON, EscalationState.CLOSED) for each in asked)
    deployed = await version_of(db, incident.service, before=incident.detected_at)
    uses = await cooldowns.of_sessions(db, ids) if ids else []
    records = []
    for some in _by_action(uses):
        disproved = person or await _failed_after(db, record, some, uses)
        confirmed = some[-1] is uses[-1] and _is_of_jobs(incident, signatures, services)
        now, version = record, deployed
        if later := await _since_change(db, incident, some):
            # earlier repairs do not count against the current configuration
            now = replace(record, circumstances=configuration_key(services.find(incident.service)))
            version = await version_of(db, incident.service, before=later[0].created_at)
        result = result_of(later or some, disproved=disproved, confirmed=confirmed)
        records.append(_of_action(now, later or some, result, deployed=version))
    declared = circumstances_of(incident.configured, deployed, None)
    return records or [replace(record, circumstances=declared)]


def _is_of_jobs(incident: Incident, signatures: Sequence[Signature], services: Services) -> bool:
    """Whether an incident was repaired whose repair only the next report of a job can confirm."""
    service = services.find(incident.service)
    checks = service.checks if service else ()
    jobs = {each.name for each in checks if isinstance(each, PushCheck)}
    failed = {each.check for each in signatures}
    return incident.outcome is IncidentOutcome.REPAIRED and failed <= jobs


async def _failed_after(
    db: Database, record: OutcomeRecord, tried: Sequence[CooldownUse], uses: Sequence[CooldownUse]
) -> bool:
    """Whether the failing check was measured after an action, before the next one, and failed."""
    start = max(use.settled_at or use.created_at for use in tried)
    until = min((use.created_at for use in uses if use.created_at > start), default=record.at)
    key = record.service, record.check
    checked = (await series.find(db, [key])).get(key)
    if checked is None:
        return False
    points = await series.points(db, checked.id, start=start, end=until, limit=MAX_POINTS)
    return fails_on(points, start)


async def _since_change(
    db: Database, incident: Incident, uses: Sequence[CooldownUse]
) -> list[CooldownUse]:
    """Return the uses after the root's last change during an incident; empty without a change."""
    until = max(use.created_at for use in uses)
    last = await events.last_change(db, [incident.service], start=incident.detected_at, until=until)
    return [use for use in uses if last is not None and use.created_at > last.created_at]


def _by_action(uses: Sequence[CooldownUse]) -> Iterator[list[CooldownUse]]:
    """Yield the uses that ran, grouped by action."""

    def name(use: CooldownUse) -> tuple[str, str]:
        return normalize_service_name(use.service), use.name or use.action

    ran = [use for use in uses if use.outcome in SPENDING_OUTCOMES]
    for _, some in groupby(sorted(ran, key=name), key=name):
        yield list(some)


def _of_action(
    record: OutcomeRecord,
    uses: Sequence[CooldownUse],
    result: ActionResult,
    *,
    deployed: str | None,
) -> OutcomeRecord:
    last = uses[-1]
    return replace(
        record,
        circumstances=circumstances_of(record.circumstances, deployed, last.action),
        context={**record.context, "kind": last.action.value},
        action=last.name or last.action.value,
        target=last.service,
        result=result,
        attempts=sum(use.attempts for use in uses),
        healthy_seconds=last.healthy_after,
        actor=OutcomeActor.AGENT if last.session_id else OutcomeActor.PERSON,
        by_session=last.session_id,
        tier=last.tier,
    )


def _context(
    incident: Incident,
    members: Sequence[IncidentMember],
    services: Services,
    change: ChangeBefore | None,
) -> Mapping[str, Any]:
    """Return the circumstances at the start of an incident."""
    root = services.find(incident.service)
    failing = {each.service for each in members}
    needs = services.with_needs([root]) if root else []
    return {
        "dependencies": {
            each.name: "failing" if each.name in failing else "healthy"
            for each in needs
            if each is not root
        },
        "affected": sorted(failing - {incident.service}),
        "hour": incident.started_at.hour,
        "weekday": incident.started_at.isoweekday(),
        "load": round(os.getloadavg()[1], 1),
        "change": change.as_json() if change else None,
    }


async def _memories(db: Database, ids: Sequence[int]) -> tuple[int, ...]:
    """Return the memories in the prompts of an incident's sessions."""
    exposed = [each for number in ids for each in await exposures.of_session(db, number)]
    return tuple(sorted({each.memory_id for each in exposed if each.position is not None}))
