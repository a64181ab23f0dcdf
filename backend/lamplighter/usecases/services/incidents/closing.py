"""The end of an incident: its services recover, it is closed, or it is merged into another one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.actions.repairs import HEALTHY_AGAIN
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    FLAPS,
    EntryKind,
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentState,
    is_member,
    outcome_of,
    person_words,
    resolved_words,
)
from lamplighter.domain.services.notice import INCIDENT_LINK, NoticeKind, NoticeState
from lamplighter.domain.services.service import is_same_service, normalize_service_name
from lamplighter.domain.sessions.session import RequestState, Session, Trigger
from lamplighter.repository import Database
from lamplighter.repository.services import checks, cooldowns, events, incidents, notices
from lamplighter.repository.sessions import approvals, escalations, requests, sessions
from lamplighter.repository.store.dialect import stamp
from lamplighter.usecases.services import session_outcomes

SHARED_USES: Final = 10

REPAIRS: Final = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED)
"""Outcomes of an action that count as the repair once the service is healthy again."""

REFUSALS: Final = (ApprovalState.DENIED, ApprovalState.EXPIRED)


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
        for each in await escalations.open_for_people(db):  # a new failure requests approval again
            same = is_same_service(each.service, name)
            if same and await approvals.was_refused(db, each.session_id, each.service, *REFUSALS):
                closed = await escalations.close(db, name, why="recovered", now=now)
                await session_outcomes.refresh(db, [one.session_id for one in closed], now=now)
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


async def no_longer_needed(db: Database, session: Session, service: str) -> str:
    """Return why a session has no reason left to act on a service; empty if it has one.

    The service recovered in the session's incident after the last check of a session, or a person
    closed the incident. A session that a person requested needs no incident.
    """
    if session.trigger in (Trigger.MANUAL, Trigger.API):
        return ""
    live = await incidents.live(db)
    own = await incidents.of_sessions(db, await sessions.lineage(db, session.id))
    members = await incidents.members(db, sorted({each.id for each in (*live, *own)}))
    if any(each.recovered_at is None for each in _of_service(members, live, service)):
        return ""
    results = await checks.latest_of_service(db, service)
    failed_at = max([session.started_at, *(each.at for each in results if each.at and not each.ok)])
    recovered = [each.recovered_at for each in _of_service(members, own, service)]
    if any(at is not None and at > failed_at for at in recovered):
        return HEALTHY_AGAIN
    ended = [each for each in own if each.merged_into is None and not each.live]
    by_person = [
        each for each in ended if any(one.recovered_at is None for one in members[each.id])
    ]
    if by_person and not any(each.live for each in own):
        return f"incident {by_person[-1].id} was closed"
    return ""


def _of_service(
    members: Mapping[int, Sequence[IncidentMember]], some: Iterable[Incident], service: str
) -> list[IncidentMember]:
    return [
        each for one in some for each in members[one.id] if is_same_service(each.service, service)
    ]


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
    members = await incidents.members_of(db, incident.id)
    if not members or not all(each.recovered_at for each in members):
        return incident
    ids = await link_sessions(db, incident)
    if any(use.outcome is UseOutcome.RESERVED for use in await cooldowns.of_sessions(db, ids)):
        return incident
    repaired = await _repair(db, incident, members)
    handled = [await escalations.handled_at(db, name) for name in incident.services]
    by_person = any(at is not None and at >= incident.detected_at for at in handled)
    outcome = outcome_of(action=repaired.get("action", ""), handled=by_person)
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
    noticed = [each.state for each in await notices.of_incident(db, closed)]
    if closed.notified_at or {*noticed} - {NoticeState.SUPPRESSED}:
        await notify(db, closed, Level.INFO, words, now=now)
    if closed.request_id is not None:
        await requests.cancel(db, closed.request_id, now=now)
    return closed


async def notify(
    db: Database, incident: Incident, level: Level, text: str, *, now: datetime
) -> None:
    """Add a notice of an incident to the outbox."""
    if await notices.policy(db) is not None:
        about = {"service": incident.service, "link": f"{INCIDENT_LINK}{incident.id}"}
        await notices.insert(db, NoticeKind.INCIDENT, level, text, now=now, **about)


async def notify_person(
    db: Database, incident: Incident, reason: str, *, now: datetime
) -> Incident:
    """Notify people, and only once, that an incident needs a person."""
    rules = await notices.policy(db)
    if incident.person_notified_at or rules is None or not rules.tells(Level.CRITICAL):
        return incident
    await notify(db, incident, Level.CRITICAL, person_words(incident, reason), now=now)
    first = incident.notified_at or now
    return await incidents.update(
        db, incident.id, person_notified_at=now, notified_at=first, now=now
    )


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


async def merge(db: Database, incident: Incident, target: Incident, *, now: datetime) -> Incident:
    """Merge an incident into an open one; people who were notified of it are notified of this."""
    ids = await link_sessions(db, incident)
    added: list[str] = []
    for each in await incidents.members_of(db, incident.id):
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
    return await close(db, incident, IncidentOutcome.MERGED, merged_into=target.id, now=now)


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
