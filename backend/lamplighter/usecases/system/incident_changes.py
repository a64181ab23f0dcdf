"""What a person does with an incident: acknowledge, note, resolve, merge."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamplighter.domain.errors import Conflict, Invalid, InvalidField
from lamplighter.domain.services.incident import (
    EntryKind,
    Incident,
    IncidentOutcome,
    is_member,
)
from lamplighter.domain.text import clean_lines
from lamplighter.repository import Database, writing
from lamplighter.repository.services import incidents
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.access.recording import record_act
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import steps as incident_steps
from lamplighter.usecases.services.incidents.view import get
from lamplighter.usecases.sessions import outcomes

BY_HAND = (IncidentOutcome.BY_PERSON, IncidentOutcome.RECOVERED, IncidentOutcome.UNRESOLVED)
"""The outcomes that a person may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentChange:
    """What a person changes; None leaves it as it is.

    `outcome` resolves the incident, `merge_into` makes it part of another one.
    """

    acknowledged: bool | None = None
    note: str | None = None
    outcome: IncidentOutcome | None = None
    merge_into: int | None = None


async def change(here: Context, number: int, wanted: IncidentChange) -> Incident:
    """Change an incident in one transaction; raises NotFound, Invalid and Conflict."""
    db, now = here.db, here.now()
    async with writing(db):
        incident = await get(db, number)
        done: list[str] = []
        if wanted.note is not None:
            note = here.redact(clean_lines(wanted.note))
            incident = await incidents.update(db, number, note=note, now=now)
            await incidents.add_entry(db, number, EntryKind.NOTE, note, now=now)
            done.append("noted")
        if wanted.acknowledged is not None:
            incident = await _acknowledge(db, incident, wanted.acknowledged, now=now)
            done.append("acknowledged" if wanted.acknowledged else "not acknowledged")
        if wanted.outcome is not None:
            incident = await _resolve(db, incident, wanted.outcome, now=now)
            done.append("resolved")
        if wanted.merge_into is not None:
            incident = await _merge(db, incident, wanted.merge_into, now=now)
            done.append(f"merged into {wanted.merge_into}")
        if not done:
            raise Invalid(InvalidField("body", "names nothing to change"))
        subject = f"incident {number}: {', '.join(done)}"
        await record_act(db, "incident", subject, service=incident.service, now=now)
        return incident


async def _acknowledge(
    db: Database, incident: Incident, acknowledged: bool, *, now: datetime
) -> Incident:
    _ensure_open(incident)
    values: dict[str, Any] = {"acknowledged_at": now if acknowledged else None}
    if acknowledged:
        await incidents.add_entry(db, incident.id, EntryKind.ACKNOWLEDGED, now=now)
    return await incidents.update(db, incident.id, now=now, **values)


async def _resolve(
    db: Database, incident: Incident, outcome: IncidentOutcome, *, now: datetime
) -> Incident:
    """Resolve an incident; its services no longer wait for a person."""
    _ensure_open(incident)
    if outcome not in BY_HAND:
        raise Invalid(InvalidField("outcome", f"must be one of {', '.join(BY_HAND)}"))
    for each in await escalations.open_for_people(db):
        if is_member(incident, each.service):
            closed = await escalations.close(db, each.service, why=escalations.HANDLED, now=now)
            await outcomes.refresh(db, [one.session_id for one in closed], now=now)
    return await incident_steps.close(db, incident, outcome, now=now)


async def _merge(db: Database, incident: Incident, into: int, *, now: datetime) -> Incident:
    """Make an incident part of an open one, with its services and sessions."""
    _ensure_open(incident)
    if into == incident.id:
        raise Invalid(InvalidField("merge_into", "is the incident itself"))
    target = await incidents.get(db, into)
    if target is None or not target.live:
        raise Invalid(InvalidField("merge_into", "names no open incident"))
    for each in (await incidents.members(db, [incident.id]))[incident.id]:
        if each.service not in target.services:
            target = await incidents.add_members(
                db, target, {each.service: each.detail}, root=target.service, now=now
            )
            await incidents.update_members(
                db, into, [each.service], investigated=True, recovered_at=each.recovered_at
            )
    await incidents.move(db, incident.id, into)
    text = f"incident {incident.id}: {incident.title}"
    await incidents.add_entry(db, into, EntryKind.MERGED, text, service=incident.service, now=now)
    if incident.started_at < target.started_at:
        await incidents.update(db, into, started_at=incident.started_at, now=now)
    return await incident_steps.close(
        db, incident, IncidentOutcome.MERGED, merged_into=into, now=now
    )


def _ensure_open(incident: Incident) -> None:
    if not incident.live:
        raise Conflict(f"Incident {incident.id} is resolved.")
