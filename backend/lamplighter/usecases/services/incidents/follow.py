"""Updates of incidents: link their sessions, derive their state, and notify people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.learning.advice import configuration_key
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    GATHER,
    EntryKind,
    Incident,
    IncidentSource,
    IncidentState,
    IncidentWork,
    is_member,
    opening_words,
    root_of,
    state_of,
)
from lamplighter.domain.services.service import GENERAL, Services, normalize_service_name
from lamplighter.domain.sessions.handoff import Escalation, EscalationState
from lamplighter.domain.sessions.session import RequestState
from lamplighter.domain.text import name_subject
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import alerts, checks, cooldowns, incidents, notices, series
from lamplighter.repository.sessions import approvals, escalations, requests, sessions
from lamplighter.usecases.services.incidents import closing
from lamplighter.usecases.services.incidents import steps as incident_steps


async def follow(db: Database, services: Services, *, now: datetime) -> bool:
    """Update all open incidents; return whether the passing of time alone may change one.

    Completed steps are not repeated, which makes a kill at any moment safe.
    """
    async with reading(db):
        live, handed = await incidents.live(db), await _escalated(db)
    if not live and not handed:
        return False
    async with writing(db):
        await _adopt(db, handed, services, now=now)
        for incident in await incidents.live(db):
            await _follow_one(db, incident, now=now)
        return await notices.policy(db) is not None and any(
            each.notified_at is None for each in await incidents.live(db)
        )


async def _escalated(db: Database) -> dict[int, list[Escalation]]:
    """Return the escalations that the next tier or a person has or will get, by session.

    Those of a running session are not complete.
    """
    candidates = [
        *await escalations.unfinished(db),
        *await escalations.in_progress(db),
        *await escalations.open_for_people(db),
    ]
    general = normalize_service_name(GENERAL)
    by_session: dict[int, list[Escalation]] = {}
    for each in candidates:
        if each.state is not EscalationState.OPEN and (
            normalize_service_name(each.service) != general
        ):
            by_session.setdefault(each.session_id, []).append(each)
    return by_session


async def _adopt(
    db: Database,
    by_session: Mapping[int, Sequence[Escalation]],
    services: Services,
    *,
    now: datetime,
) -> None:
    """Link sessions with escalations to their incident; open one if there is none.

    A round escalates everything that fails: services unrelated to the incident are left out.
    """
    linked = await incidents.incident_of(db, by_session)
    failing = {each.service for each in await series.failing(db)} if by_session else set()
    for number, handed in by_session.items():
        own = {each.service: each for each in handed}
        live = await incidents.live(db)
        incident = _incident_of(live, linked.get(number), own, services)
        if incident is None and number in linked:
            continue  # the incident is over
        seeds = incident.services if incident else [_root_of(own, services)]
        others = [each for each in live if incident is None or each.id != incident.id]
        apart = _apart(own, seeds, services, failing, others)
        own = {name: each for name, each in own.items() if name not in apart}
        if incident is None:
            incident = await _open_for(db, own, services, now=now)
        joining = [each for each in own.values() if not is_member(incident, each.service)]
        for each in joining:
            await incidents.add_entry(
                db, incident.id, EntryKind.JOINED, each.reason, service=each.service, now=now
            )
        if joining:
            added = {each.service: each.reason for each in joining}
            await incidents.add_members(db, incident, added, root=incident.service, now=now)
        if joining or number not in linked:
            await incidents.update_members(db, incident.id, own, investigated=True)
            await incidents.link(db, incident.id, await sessions.lineage(db, number))


def _apart(
    own: Iterable[str],
    seeds: Sequence[str],
    services: Services,
    failing: Iterable[str],
    others: Sequence[Incident],
) -> set[str]:
    """Return the services that are not connected to the seeds, and have their own incident.

    A service that fails a scheduled check has one, or gets one with its next result.
    """
    near = [*seeds]
    left = {normalize_service_name(name): name for name in own}
    while joined := left.keys() & {
        normalize_service_name(name) for name in (*near, *services.neighbors(near))
    }:
        near += [left.pop(each) for each in joined]
    watched = set(map(normalize_service_name, failing))
    return {
        name
        for key, name in left.items()
        if key in watched or any(is_member(each, name) for each in others)
    }


def _incident_of(
    live: Sequence[Incident], linked: int | None, names: Iterable[str], services: Services
) -> Incident | None:
    """Return the open incident of a session: its own, otherwise that of a neighboring service."""
    if linked is not None:
        return next((each for each in live if each.id == linked), None)
    near = [*names, *services.neighbors(list(names))]
    return next((each for each in live if any(is_member(each, name) for name in near)), None)


def _root_of(own: Mapping[str, Escalation], services: Services) -> str:
    return root_of(services, {name: each.created_at for name, each in own.items()})


async def _open_for(
    db: Database, own: Mapping[str, Escalation], services: Services, *, now: datetime
) -> Incident:
    root = _root_of(own, services)
    return await incident_steps.open_incident(
        db,
        IncidentSource.SESSION,
        root,
        {name: each.reason for name, each in own.items()},
        title=name_subject(root, own[root].reason),
        started_at=min(each.created_at for each in own.values()),
        configured=configuration_key(services.find(root)),
        now=now,
    )


async def _follow_one(db: Database, incident: Incident, *, now: datetime) -> None:
    ids = await closing.link_sessions(db, incident)
    state = state_of(await _work(db, incident, ids), incident.state)
    if state is not incident.state:
        await incidents.add_entry(db, incident.id, EntryKind.STATE, state, now=now)
        incident = await incidents.update(db, incident.id, state=state, now=now)
    if incident.source is not IncidentSource.CHECK:
        incident = await _recover_by_sessions(db, incident, now=now)
    if incident.live:
        incident = await closing.close_if_over(db, incident, now=now)
    if incident.live:
        await _notify(db, incident, ids, now=now)


async def _work(db: Database, incident: Incident, ids: Sequence[int]) -> IncidentWork:
    running = [each for each in await sessions.running(db) if each.id in ids]
    asked = [each for number in ids for each in await approvals.of_session(db, number)]
    uses = await cooldowns.of_sessions(db, ids)
    return IncidentWork(
        tiers=frozenset(each.tier for each in running),
        acting=any(use.outcome is UseOutcome.RESERVED for use in uses),
        waiting=any(each.state is ApprovalState.OPEN for each in asked),
        person=await _is_left_to_person(db, incident) or await _awaits_person(db, incident),
        handed_on=any(each.session_id in ids for each in await escalations.unfinished(db)),
    )


async def _is_left_to_person(db: Database, incident: Incident) -> bool:
    """Whether a person was asked; before this incident only counts once it was investigated."""
    people = await escalations.open_for_people(db)
    dates = [each.created_at for each in people if is_member(incident, each.service)]
    request = await requests.get(db, incident.request_id) if incident.request_id else None
    pending = request is not None and request.state in (RequestState.QUEUED, RequestState.RUNNING)
    return any(not pending or at >= incident.started_at for at in dates)


async def _awaits_person(db: Database, incident: Incident) -> bool:
    """Whether sessions cannot help any more, and a person has not acknowledged the incident.

    A lasting warning was investigated without a repair; or the root cause flaps.
    """
    if incident.acknowledged_at is not None:
        return False
    if not incident.is_warning and not await incidents.flapping(db, [incident]):
        return False
    return not await closing.is_worked_on(db, incident)


async def _recover_by_sessions(db: Database, incident: Incident, *, now: datetime) -> Incident:
    """Mark members reported by a session or a monitor as recovered if nothing contradicts it."""
    ids = set(await incidents.session_ids(db, incident.id))
    if ids & {each.id for each in await sessions.running(db)}:
        return incident
    waiting = [*await escalations.unfinished(db), *await escalations.open_for_people(db)]
    ill = {normalize_service_name(each.service) for each in waiting}
    ill |= await alerts.firing_services(db)
    well = []
    for each in await incidents.members_of(db, incident.id):
        if each.recovered_at or normalize_service_name(each.service) in ill:
            continue
        watched = await series.of_services(db, [each.service])
        seen = await checks.latest_of_service(db, each.service)
        healthy = (
            not any(one.failing for one in watched) if watched else all(one.ok for one in seen)
        )
        if healthy:
            well.append(each.service)
    return await closing.recover(db, incident, well, now=now)


async def _notify(db: Database, incident: Incident, ids: Sequence[int], *, now: datetime) -> None:
    """Notify people once of the start of an incident, and once that it needs a person."""
    rules = await notices.policy(db)
    if rules is None:
        return
    start, tells = incident.started_at, rules.tells(incident.severity)
    if incident.notified_at is None and tells:
        await notices.leave_to_incident(db, incident.services, ids, start=start, now=now)
    person = incident.state is IncidentState.NEEDS_PERSON and incident.person_notified_at is None
    if person and rules.tells(Level.CRITICAL):
        reasons = [  # requests from before this incident are left out
            each.reason
            for each in await escalations.open_for_people(db)
            if each.state is EscalationState.PERSON
            and is_member(incident, each.service)
            and each.created_at >= start
        ]
        await closing.notify_person(db, incident, [incident.reason, *reasons][-1], now=now)
    elif incident.notified_at is None and tells and now - incident.detected_at >= GATHER:
        if not await notices.was_alarmed(db, incident.services, ids, start=start):
            times = await incidents.count_since(db, incident.service, now - timedelta(hours=24))
            text = opening_words(incident, times)
            await closing.notify(db, incident, incident.severity, text, now=now)
        await incidents.update(db, incident.id, notified_at=now, now=now)
