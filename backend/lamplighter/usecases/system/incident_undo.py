"""The undo of a person's changes of an incident, unless it was changed later."""

import re
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.services.incident import EntryKind, Incident, IncidentOutcome, IncidentState
from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository import writing
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import UNDO, JournalEntry
from lamplighter.repository.services import incidents, outcomes
from lamplighter.repository.sessions import escalations, requests, sessions
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import undoable
from lamplighter.usecases.services import session_outcomes
from lamplighter.usecases.services.incidents.view import get
from lamplighter.usecases.system import incident_changes

_SUBJECT: Final = re.compile(r"incident (\d+): (.*)", re.DOTALL)
_SEPARATED: Final = re.compile(r"incident \d+ was separated again|separated from incident \d+")
_REOPENED: Final = "The resolution was undone."
_ASKED_AGAIN: Final = (
    f"{_REOPENED} If the failure lasts, the withdrawn approval is requested again."
)


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
            return await incident_changes.separate(db, incident, now=now)
        case ["separated", "from", number]:
            target = await get(db, int(number))
            _ensure(target.live, target)
            return await incident_changes.merge_into(db, incident, target.id, now=now)
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
