"""The end of an incident: its services recover, and it is closed with an outcome."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    EntryKind,
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentState,
    is_member,
    outcome_of,
    resolved_words,
)
from lamplighter.domain.services.notice import INCIDENT_LINK, NoticeKind, NoticeState
from lamplighter.domain.services.service import is_same_service, normalize_service_name
from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository import Database
from lamplighter.repository.services import cooldowns, events, incidents, notices
from lamplighter.repository.sessions import approvals, escalations, requests, sessions
from lamplighter.usecases.services import session_outcomes

SHARED_USES: Final = 10

REPAIRS: Final = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED)
"""Outcomes of an action that count as the repair once the service is healthy again."""


async def recover(
    db: Database, incident: Incident, names: Iterable[str], *, now: datetime
) -> Incident:
    """Record that members are healthy again; the last one closes the incident."""
    recovered = set(names)
    if not recovered:
        return incident
    await incidents.update_members(db, incident.id, recovered, recovered_at=now)
    for name in sorted(recovered):
        await incidents.add_entry(db, incident.id, EntryKind.RECOVERED, service=name, now=now)
        await withdraw(db, await approvals.open_for_service(db, name), healthy_again(name), now=now)
        await _end_refusal(db, name, now=now)
    return await close_if_over(db, incident, now=now)


def healthy_again(service: str) -> str:
    """Return why an approval of a recovered service is withdrawn."""
    return f"{service} is healthy again"


async def withdraw(db: Database, waiting: Iterable[Approval], note: str, *, now: datetime) -> None:
    """Withdraw open approvals, with an event for each of them."""
    for each in waiting:
        await approvals.withdraw(db, note, number=each.id, now=now)
        text = f"Approval of {each.wish} withdrawn: {note}."
        await events.insert(
            db,
            Level.INFO,
            text,
            service=each.service,
            session_id=each.session_id,
            tier=each.tier,
            now=now,
        )


async def _end_refusal(db: Database, service: str, *, now: datetime) -> None:
    """Close the request to a person that followed a denial or an expiry.

    If the recovered service fails again, its approval is requested again.
    """
    refusals = (ApprovalState.DENIED, ApprovalState.EXPIRED)
    for each in await escalations.open_for_people(db):
        same = is_same_service(each.service, service)
        if same and await approvals.was_refused(db, each.session_id, each.service, *refusals):
            closed = await escalations.close(db, service, why="recovered", now=now)
            await session_outcomes.refresh(db, [one.session_id for one in closed], now=now)


async def stop_waiting(db: Database, incident: Incident, *, now: datetime) -> None:
    """Withdraw the approvals of an incident that a person closes, and stop their sessions."""
    for number in await link_sessions(db, incident):
        waiting = [each for each in await approvals.of_session(db, number) if each.living]
        await withdraw(db, waiting, f"incident {incident.id} was closed", now=now)
        if waiting:
            await sessions.request_stop(db, number, now=now)


async def close_if_over(db: Database, incident: Incident, *, now: datetime) -> Incident:
    """Close an incident whose services are all healthy again, unless one of its actions still runs.

    An action that is being verified may be the repair.
    """
    members = (await incidents.members(db, [incident.id]))[incident.id]
    if not members or not all(each.recovered_at for each in members):
        return incident
    ids = await link_sessions(db, incident)
    if any(use.outcome is UseOutcome.RESERVED for use in await cooldowns.of_sessions(db, ids)):
        return incident
    repaired = await _repair(db, incident, members)
    handled = await _was_handled(db, incident)
    outcome = outcome_of(action=repaired.get("action", ""), handled=handled)
    return await close(db, incident, outcome, now=now, **repaired)


async def link_sessions(db: Database, incident: Incident) -> list[int]:
    """Link the sessions of an incident to it, and return all of them."""
    while new := await incidents.unlinked(db, incident.id, incident.request_id):
        await incidents.link(db, incident.id, new)
    return await incidents.session_ids(db, incident.id)


async def is_worked_on(db: Database, incident: Incident) -> bool:
    """Whether a request, a session or a person works on an incident, or is about to."""
    request = await requests.get(db, incident.request_id) if incident.request_id else None
    if request and request.state in (RequestState.QUEUED, RequestState.RUNNING):
        return True
    ids = set(await link_sessions(db, incident))
    if ids & {each.id for each in await sessions.running(db)}:
        return True
    if any(each.session_id in ids for each in await escalations.unfinished(db)):
        return True
    return any(is_member(incident, each.service) for each in await escalations.open_for_people(db))


async def close(
    db: Database, incident: Incident, outcome: IncidentOutcome, *, now: datetime, **more: Any
) -> Incident:
    """Close an incident with its outcome, and notify the people who were notified of it."""
    at = max(now, incident.detected_at)  # after the clock was set back, too
    values = {"state": IncidentState.RESOLVED, "outcome": outcome, "resolved_at": at, **more}
    words = resolved_words(replace(incident, **values))
    closed = await incidents.update(db, incident.id, now=now, **values)
    await incidents.add_entry(db, closed.id, EntryKind.RESOLVED, words, now=now)
    if await _is_notified_of(db, closed):
        await notify(db, closed, Level.INFO, words, now=now)
    if closed.request_id is not None:
        await requests.cancel(db, closed.request_id, now=now)
    return closed


async def _is_notified_of(db: Database, incident: Incident) -> bool:
    """Whether people got a notice that belongs to an incident."""
    own = await notices.of_incident(db, incident)
    sent = any(each.state is not NoticeState.SUPPRESSED for each in own)
    return sent or incident.notified_at is not None


async def notify(
    db: Database, incident: Incident, level: Level, text: str, *, now: datetime
) -> None:
    """Add a notice of an incident to the outbox."""
    if await notices.policy(db) is not None:
        about = {"service": incident.service, "link": f"{INCIDENT_LINK}{incident.id}"}
        await notices.insert(db, NoticeKind.INCIDENT, level, text, now=now, **about)


async def _repair(
    db: Database, incident: Incident, members: Sequence[IncidentMember]
) -> dict[str, Any]:
    """Return the action that repaired the services, and when they were healthy; empty without one.

    That is the measured time, otherwise the time when the last member's recovery was detected. A
    session that works on two incidents is linked to one, and may repair both.
    """
    folded = {normalize_service_name(each.service) for each in members}
    uses = await cooldowns.of_sessions(db, await incidents.session_ids(db, incident.id))
    for each in members:
        shared = await cooldowns.recent(db, each.service, limit=SHARED_USES)
        uses += [use for use in shared if use.created_at >= incident.started_at]
    repairs = [
        use
        for use in uses
        if use.outcome in REPAIRS and normalize_service_name(use.service) in folded
    ]
    if not repairs:
        return {}
    last = max(repairs, key=lambda use: use.id)
    named = last.name or str(last.action)
    where = "" if last.service == incident.service else f" of {last.service}"
    measured = last.healthy_at if last.healthy_after is not None else None
    recovered = max(each.recovered_at for each in members if each.recovered_at)
    return {"action": f"{named}{where}", "repaired_at": measured or recovered}


async def _was_handled(db: Database, incident: Incident) -> bool:
    """Whether a person marked a member as handled during an incident."""
    for name in incident.services:
        at = await escalations.handled_at(db, name)
        if at is not None and at >= incident.detected_at:
            return True
    return False
