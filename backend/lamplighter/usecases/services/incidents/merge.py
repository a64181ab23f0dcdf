"""Merges: an incident becomes part of another open one, with its services and sessions."""

from collections.abc import Mapping
from datetime import datetime

from lamplighter.domain.services.incident import FLAPS, EntryKind, Incident, IncidentOutcome
from lamplighter.repository import Database
from lamplighter.repository.services import incidents
from lamplighter.repository.store.dialect import stamp
from lamplighter.usecases.services.incidents import closing


async def merge(db: Database, incident: Incident, target: Incident, *, now: datetime) -> Incident:
    """Merge an incident into an open one; people who were notified of it are notified of this."""
    ids = await closing.link_sessions(db, incident)
    added: list[str] = []
    for each in (await incidents.members(db, [incident.id]))[incident.id]:
        if each.service not in target.services:
            added.append(each.service)
            target = await incidents.add_members(
                db, target, {each.service: each.detail}, root=target.service, now=now
            )
            await incidents.update_members(
                db, target.id, [each.service], investigated=True, recovered_at=each.recovered_at
            )
    await incidents.move_sessions(db, ids, target.id)
    text = f"{_name(incident)}{incident.title}"
    root = incident.service
    await incidents.add_entry(db, target.id, EntryKind.MERGED, text, service=root, now=now)
    moved = {"services": added, "sessions": ids, "started_at": stamp(target.started_at)}
    if incident.started_at < target.started_at:
        await incidents.update(db, target.id, started_at=incident.started_at, now=now)
    await incidents.update(db, incident.id, moved=moved, now=now)
    return await closing.close(db, incident, IncidentOutcome.MERGED, merged_into=target.id, now=now)


async def merge_found(db: Database, found: Mapping[int, int], *, now: datetime) -> None:
    """Merge incidents of one root cause that were opened before its failure was known.

    Incidents that a person separated stay separate.
    """
    for number, into in found.items():
        incident, target = await incidents.get(db, number), await incidents.get(db, into)
        if incident is None or target is None or not (incident.live and target.live):
            continue
        merges = [
            each for each in await incidents.entries(db, into) if each.kind is EntryKind.MERGED
        ]
        if any(each.text.startswith(_name(incident)) for each in merges):
            continue
        await merge(db, incident, target, now=now)
        if await incidents.flapping(db, [target]):  # no session starts for flapping members
            await incidents.update_members(db, into, incident.services, failures=FLAPS)


def _name(incident: Incident) -> str:
    return f"incident {incident.id}: "
