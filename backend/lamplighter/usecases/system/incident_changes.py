"""Changes of an incident by a person: acknowledge, note, resolve, merge, separate; their undo."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField
from lamplighter.domain.services.incident import (
    EntryKind,
    Incident,
    IncidentOutcome,
    IncidentState,
    is_member,
)
from lamplighter.domain.sessions.session import RequestState
from lamplighter.domain.text import clean_lines
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import UNDO, JournalEntry
from lamplighter.repository.services import incidents, outcomes
from lamplighter.repository.sessions import escalations, requests, sessions
from lamplighter.repository.store.dialect import moment
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import undoable
from lamplighter.usecases.services import session_outcomes
from lamplighter.usecases.services.incidents import closing
from lamplighter.usecases.services.incidents.closing import merge
from lamplighter.usecases.services.incidents.view import get

CHANGED: Final = "incident"
"""The action of a person who changed an incident."""

BY_HAND = (IncidentOutcome.BY_PERSON, IncidentOutcome.RECOVERED, IncidentOutcome.UNRESOLVED)
"""The outcomes that a person may set."""


_SUBJECT: Final = re.compile(r"incident (\d+): (.*)", re.DOTALL)
_SEPARATED: Final = re.compile(r"incident \d+ was separated again|separated from incident \d+")
_REOPENED: Final = "The resolution was undone."
_ASKED_AGAIN: Final = (
    f"{_REOPENED} If the failure lasts, the withdrawn approval is requested again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentChange:
    """A person's change of an incident; None leaves a field unchanged.

    `outcome` resolves the incident, `merge_into` makes it part of another one, and `separate`
    undoes that while the other one is open.
    """

    acknowledged: bool | None = None
    note: str | None = None
    outcome: IncidentOutcome | None = None
    merge_into: int | None = None
    separate: bool | None = None


async def change(here: Context, number: int, requested: IncidentChange) -> Incident:
    """Change an incident in one transaction; raises NotFound, Invalid and Conflict."""
    db, now = here.db, here.now()
    async with writing(db):
        incident = await get(db, number)
        done: list[str] = []
        if requested.note is not None:
            note = here.redact(clean_lines(requested.note))
            incident = await incidents.update(db, number, note=note, now=now)
            await incidents.add_entry(db, number, EntryKind.NOTE, note, now=now)
            done.append("noted")
        incident = await _acknowledge(db, incident, requested.acknowledged, done, now=now)
        incident = await _close_or_reopen(db, incident, requested, done, now=now)
        if not done:
            if requested.acknowledged is not None:
                return incident  # already acknowledged as requested
            raise Invalid(InvalidField("body", "names nothing to change"))
        subject = f"incident {number}: {', '.join(done)}"
        about = {"service": incident.service, "subject": subject}
        async with recording(db, CHANGED, now=now, **about) as act:
            act.did()
        return incident


async def _close_or_reopen(
    db: Database, incident: Incident, requested: IncidentChange, done: list[str], *, now: datetime
) -> Incident:
    if requested.outcome is not None:
        incident = await _resolve(db, incident, requested.outcome, now=now)
        done.append("resolved")
    if requested.merge_into is not None:
        incident = await merge_into(db, incident, requested.merge_into, now=now)
        done.append(f"merged into {requested.merge_into}")
    if requested.separate:
        done.append(f"separated from {incident.merged_into}")
        incident = await separate(db, incident, now=now)
    return incident


async def _acknowledge(
    db: Database, incident: Incident, acknowledged: bool | None, done: list[str], *, now: datetime
) -> Incident:
    if acknowledged is None:
        return incident
    _ensure_open(incident)
    if acknowledged is (incident.acknowledged_at is not None):
        return incident
    done.append("acknowledged" if acknowledged else "not acknowledged")
    values: dict[str, Any] = {"acknowledged_at": now if acknowledged else None}
    if acknowledged:
        await incidents.add_entry(db, incident.id, EntryKind.ACKNOWLEDGED, now=now)
    return await incidents.update(db, incident.id, now=now, **values)


async def _resolve(
    db: Database, incident: Incident, outcome: IncidentOutcome, *, now: datetime
) -> Incident:
    """Resolve an incident; its services no longer need a person, nor its actions an approval."""
    _ensure_open(incident)
    if outcome not in BY_HAND:
        raise Invalid(InvalidField("outcome", f"must be one of {', '.join(BY_HAND)}"))
    why = await escalations.why_for_people(db)
    for each in await escalations.open_for_people(db):
        if is_member(incident, each.service):
            closed = await escalations.close(db, each.service, why=escalations.HANDLED, now=now)
            await session_outcomes.refresh(db, [one.session_id for one in closed], now=now)
    if why:
        await incidents.update(db, incident.id, moved={"why": why}, now=now)
    await closing.stop_waiting(db, incident, now=now)
    return await closing.close(db, incident, outcome, now=now)


async def merge_into(db: Database, incident: Incident, into: int, *, now: datetime) -> Incident:
    """Make an incident part of an open one, with its services and sessions."""
    _ensure_open(incident)
    if into == incident.id:
        raise Invalid(InvalidField("merge_into", "is the incident itself"))
    target = await incidents.get(db, into)
    if target is None or not target.live:
        raise Invalid(InvalidField("merge_into", "names no open incident"))
    return await merge(db, incident, target, now=now)


async def separate(db: Database, incident: Incident, *, now: datetime) -> Incident:
    """Undo a merge: the incident's services and sessions leave the target, and it is open again."""
    moved = await incidents.moved(db, incident.id)
    target = await incidents.get(db, incident.merged_into or 0)
    if incident.outcome is not IncidentOutcome.MERGED or moved is None or target is None:
        raise Conflict(f"Incident {incident.id} is not merged into another one.")
    if not target.live:
        raise Conflict(f"Incident {target.id} is resolved. Its parts cannot be separated.")
    first = target.started_at == incident.started_at  # else it began with a remaining service
    began = moment(moved["started_at"]) if first else target.started_at
    await incidents.remove_members(db, target, moved["services"], started_at=began, now=now)
    await incidents.move_sessions(db, moved["sessions"], incident.id)
    text = f"incident {incident.id} was separated again"
    await incidents.add_entry(db, target.id, EntryKind.NOTE, text, now=now)
    text = f"separated from incident {target.id}"
    await incidents.add_entry(db, incident.id, EntryKind.NOTE, text, now=now)
    # request the investigation again that the merge withdrew
    await incidents.update_members(db, incident.id, incident.services, investigated=False)
    values: dict[str, Any] = dict.fromkeys(("merged_into", "moved", "resolved_at", "learned_at"))
    state = {"state": IncidentState.OPEN, "outcome": IncidentOutcome.NONE}
    return await incidents.update(db, incident.id, **values, **state, now=now)


def _ensure_open(incident: Incident) -> None:
    if not incident.live:
        raise Conflict(f"Incident {incident.id} is already resolved.")


async def revert(here: Context, act_id: int) -> tuple[int, JournalEntry]:
    """Undo a person's act on an incident: acknowledge, note, resolve, merge or separate.

    Raises NotFound, and Conflict if the incident was changed later.
    """
    db, now = here.db, here.now()
    async with writing(db):
        done = await undoable(db, act_id)
        match = _SUBJECT.fullmatch(done.subject or "")
        if match is None:
            raise Conflict(f"Act {act_id} does not name its incident.")
        incident = await get(db, int(match[1]))
        about = {"undoes": act_id, "service": done.service, "subject": f"Reverted: {done.subject}"}
        async with recording(db, UNDO, now=now, **about) as act:
            act.did()
            for each in reversed(match[2].split(", ")):
                incident = await _undo(here, incident, each, done)
    return act.id, done


async def _undo(here: Context, incident: Incident, what: str, done: JournalEntry) -> Incident:
    db, now = here.db, here.now()
    match what.split():
        case ["noted"]:
            return await _restore_note(here, incident, done)
        case ["acknowledged"]:
            _ensure(incident.live and incident.acknowledged_at == done.created_at, incident)
            return await incidents.update(db, incident.id, acknowledged_at=None, now=now)
        case ["not", "acknowledged"]:
            _ensure(incident.live and incident.acknowledged_at is None, incident)
            return await _acknowledge_again(here, incident, done)
        case ["resolved"]:
            return await _reopen(here, incident, done)
        case ["merged", "into", number]:
            _ensure(incident.merged_into == int(number), incident)
            return await separate(db, incident, now=now)
        case ["separated", "from", number]:
            target = await get(db, int(number))
            _ensure(target.live, target)
            return await merge_into(db, incident, target.id, now=now)
    raise Conflict(f"Incident {incident.id} cannot be changed back.")


async def _acknowledge_again(here: Context, incident: Incident, done: JournalEntry) -> Incident:
    """Restore the time of the acknowledgment from the timeline."""
    before = [
        each.at
        for each in await incidents.entries(here.db, incident.id)
        if each.kind is EntryKind.ACKNOWLEDGED and each.at < done.created_at
    ]
    _ensure(bool(before), incident)
    return await incidents.update(here.db, incident.id, acknowledged_at=before[-1], now=here.now())


async def _restore_note(here: Context, incident: Incident, done: JournalEntry) -> Incident:
    """Restore the previous note from the timeline."""
    db, now = here.db, here.now()
    notes = [
        each
        for each in await incidents.entries(db, incident.id)
        if each.kind is EntryKind.NOTE
        and not _SEPARATED.fullmatch(each.text)
        and not each.text.startswith(_REOPENED)
    ]
    written = [each.text for each in notes if each.at == done.created_at]
    later = await journal.later(db, done, f"incident {incident.id}: noted")
    _ensure(written[-1:] == [incident.note] and not later, incident)
    before = [each.text for each in notes if each.at < done.created_at]
    note = before[-1] if before else ""
    await incidents.add_entry(db, incident.id, EntryKind.NOTE, note, now=now)
    return await incidents.update(db, incident.id, note=note, now=now)


async def _reopen(here: Context, incident: Incident, done: JournalEntry) -> Incident:
    """Reopen a resolved incident: it needs the same people again, and is learned at its end."""
    db, now = here.db, here.now()
    _ensure(incident.resolved_at == done.created_at, incident)
    for each in await incidents.live(db):
        if set(each.services) & set(incident.services):
            raise Conflict(f"Incident {each.id} is open for {each.service}. Merge them instead.")
    await outcomes.remove(db, incident.id)  # counted again at its real end
    why = (await incidents.moved(db, incident.id) or {}).get("why", {})
    reopened = await escalations.reopen(db, closed_at=done.created_at, why=why, now=now)
    await session_outcomes.refresh(db, [one.session_id for one in reopened], now=now)
    request = await requests.get(db, incident.request_id) if incident.request_id else None
    waited = await _waited(here, incident, done)
    if waited or (request and request.state is RequestState.CANCELLED):
        # request the investigation again that the resolution withdrew
        await incidents.update_members(db, incident.id, incident.services, investigated=False)
    text = _ASKED_AGAIN if waited else _REOPENED
    await incidents.add_entry(db, incident.id, EntryKind.NOTE, text, now=now)
    values = {"state": IncidentState.OPEN, "outcome": IncidentOutcome.NONE, "resolved_at": None}
    values |= {"learned_at": None, "moved": None}
    return await incidents.update(db, incident.id, **values, now=now)


async def _waited(here: Context, incident: Incident, done: JournalEntry) -> bool:
    """Whether the resolution stopped a session that waited for an approval."""
    ids = await incidents.session_ids(here.db, incident.id)
    some = [await sessions.get(here.db, each) for each in ids]
    return any(each and each.stop_requested_at == done.created_at for each in some)


def _ensure(unchanged: bool, incident: Incident) -> None:
    if not unchanged:
        raise Conflict(f"Incident {incident.id} was changed since. Change it instead.")
