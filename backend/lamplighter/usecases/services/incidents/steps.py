"""The steps of incidents: opened, extended, investigated, and closed with an outcome."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.learning.advice import ActionEvidence, configuration_key
from lamplighter.domain.learning.signature import LATER, is_own_fault
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    EntryKind,
    Incident,
    IncidentMember,
    IncidentOutcome,
    IncidentPlan,
    IncidentSource,
    IncidentState,
    is_member,
    outcome_of,
    resolved_words,
    root_of,
)
from lamplighter.domain.services.notice import NoticeKind
from lamplighter.domain.services.series import CheckSeries
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.domain.sessions.session import MAX_TIER, RequestState, SessionPlan, Trigger
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database
from lamplighter.repository.services import cooldowns, incidents, notices
from lamplighter.repository.sessions import escalations, requests, sessions
from lamplighter.usecases.services.incidents import changes
from lamplighter.usecases.services.incidents.advise import advice_on
from lamplighter.usecases.services.incidents.lasting import refused_actions

TITLE_CHARS: Final = 200
DETAIL_CHARS: Final = 1_000
REPAIRS: Final = (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED)
"""Outcomes of an action that count as the repair once the service is healthy again."""

FailingChecks = Mapping[str, Sequence[CheckSeries]]
"""The failing checks of each failing service."""


async def apply(
    db: Database,
    plan: IncidentPlan,
    failing: FailingChecks,
    services: Services,
    *,
    repairs: bool = False,
    now: datetime,
) -> None:
    """Do what a plan says, in the transaction of the results that it is made of.

    `repairs` says that a session of tier 3 may begin where the repair is known.
    """
    for group in plan.open:
        await _open(db, group, failing, services, repairs=repairs, now=now)
    for incident in await incidents.live(db):
        if failing.keys() & set(incident.services):
            incident = await _take_over(db, incident, failing, services, now=now)
        joining = [name for name, number in plan.join.items() if number == incident.id]
        if joining:
            incident = await join(db, incident, joining, failing, services, now=now)
        own = plan.failed_again & set(incident.services)
        if own:
            await incidents.update_members(db, incident.id, own, again=True, recovered_at=None)
            for name in sorted(own):
                text = evidence(failing[name])
                await incidents.add_entry(
                    db, incident.id, EntryKind.FAILED_AGAIN, text, service=name, now=now
                )
        await _add_evidence(db, incident, failing)
        await recover(db, incident, plan.recovered & set(incident.services), now=now)
        gone = await _separate_faults(db, incident, failing, services, repairs=repairs, now=now)
        if due := [name for name in plan.investigate.get(incident.id, ()) if name not in gone]:
            incident = await _call_person(db, incident, failing, services, now=now)
            await _investigate(db, incident, due, failing, now=now)


async def open_warning(
    db: Database, group: Sequence[str], warned: FailingChecks, *, now: datetime
) -> None:
    """Open the incident of lasting warnings, the root first, and request its investigation."""
    root = group[0]
    incident = await open_incident(
        db,
        IncidentSource.CHECK,
        root,
        {name: evidence(warned[name]) for name in group},
        severity=Level.WARNING,
        title=f"{root} warns: {evidence(warned[root][:1])}",
        started_at=now,
        now=now,
    )
    await _investigate(db, incident, sorted(group), warned, now=now)


async def open_incident(
    db: Database,
    source: IncidentSource,
    root: str,
    evidence_of: Mapping[str, str],
    *,
    severity: Level = Level.CRITICAL,
    title: str,
    started_at: datetime,
    now: datetime,
    **more: Any,
) -> Incident:
    """Open an incident; `evidence_of` are its services, each with what fails there."""
    found = await incidents.insert(
        db,
        service=root,
        state=IncidentState.OPEN,
        severity=severity,
        source=source,
        title=shorten(one_line(title), TITLE_CHARS),
        started_at=started_at,
        now=now,
        **more,
    )
    found = await incidents.add_members(db, found, evidence_of, root=root, now=now)
    await incidents.add_entry(db, found.id, EntryKind.OPENED, found.title, service=root, now=now)
    for name in evidence_of:
        if name != root:
            await incidents.add_entry(
                db, found.id, EntryKind.JOINED, evidence_of[name], service=name, now=now
            )
    return found


async def recover(
    db: Database, incident: Incident, names: Iterable[str], *, now: datetime
) -> Incident:
    """Note that members are healthy again; the last one closes the incident."""
    recovered = set(names)
    if not recovered:
        return incident
    await incidents.update_members(db, incident.id, recovered, recovered_at=now)
    for name in sorted(recovered):
        await incidents.add_entry(db, incident.id, EntryKind.RECOVERED, service=name, now=now)
    return await close_if_over(db, incident, now=now)


async def close_if_over(db: Database, incident: Incident, *, now: datetime) -> Incident:
    """Close an incident whose services are all healthy again, unless an action still runs for it.

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
    """Make the sessions of an incident part of it, and return all of them."""
    while new := await incidents.unlinked(db, incident.id, incident.request_id):
        await incidents.link(db, incident.id, new)
    return await incidents.session_ids(db, incident.id)


async def is_worked_on(db: Database, incident: Incident) -> bool:
    """Whether a request, a session or a person is at work for an incident, or about to be."""
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
    """Close an incident with its outcome, and notify those who were notified of it."""
    values = {"state": IncidentState.RESOLVED, "outcome": outcome, "resolved_at": now, **more}
    words = resolved_words(replace(incident, **values))
    closed = await incidents.update(db, incident.id, now=now, **values)
    await incidents.add_entry(db, closed.id, EntryKind.RESOLVED, words, now=now)
    if closed.notified_at or closed.person_notified_at:
        await notify(db, closed, Level.INFO, words, now=now)
    if closed.request_id is not None:
        await requests.cancel(db, closed.request_id, now=now)
    return closed


async def notify(
    db: Database, incident: Incident, level: Level, text: str, *, now: datetime
) -> None:
    """Put a notice of an incident into the outbox."""
    if await notices.policy(db) is not None:
        about = {"service": incident.service, "link": f"/incidents/{incident.id}"}
        await notices.insert(db, NoticeKind.INCIDENT, level, text, now=now, **about)


def evidence(some: Sequence[CheckSeries]) -> str:
    """Return what failing checks found, a line each."""
    lines = [f"{each.check}: {one_line(each.detail) or 'failed'}" for each in some]
    return shorten("\n".join(lines), DETAIL_CHARS)


async def _add_evidence(db: Database, incident: Incident, failing: FailingChecks) -> None:
    """Add the checks of members that fail since they joined to their evidence."""
    names = failing.keys() & set(incident.services)
    for each in (await incidents.members(db, [incident.id]))[incident.id] if names else ():
        lines = each.detail.splitlines()
        known = {line.removeprefix(LATER).partition(": ")[0] for line in lines}
        new = [one for one in failing.get(each.service, ()) if one.check not in known]
        if new and not each.recovered_at:
            more = "\n".join(f"{LATER}{line}" for line in evidence(new).splitlines())
            detail = shorten(f"{each.detail}\n{more}", DETAIL_CHARS)
            await incidents.update_members(db, incident.id, [each.service], detail=detail)


async def _open(
    db: Database,
    group: Sequence[str],
    failing: FailingChecks,
    services: Services,
    *,
    repairs: bool,
    now: datetime,
) -> None:
    root = group[0]
    since = min(each.changed_at or now for name in group for each in failing[name])
    incident = await open_incident(
        db,
        IncidentSource.CHECK,
        root,
        {name: evidence(failing[name]) for name in group},
        title=f"{root} fails: {evidence(failing[root][:1])}",
        started_at=since,
        configured=configuration_key(services.find(root)),
        now=now,
    )
    if change := await changes.change_before(db, services, root, since):
        await incidents.add_entry(
            db, incident.id, EntryKind.CHANGED, change.sentence, service=change.service, now=now
        )
    found = await advice_on(db, services.find(root), evidence(failing[root]), now=now)
    if found.fix and repairs:
        await _repair_at_once(db, incident, sorted(group), found.fix, now=now)
        return
    incident = await _call_person(db, incident, failing, services, now=now)
    await _investigate(db, incident, sorted(group), failing, now=now)


async def _separate_faults(
    db: Database,
    incident: Incident,
    failing: FailingChecks,
    services: Services,
    *,
    repairs: bool,
    now: datetime,
) -> list[str]:
    """Let a second fault be an incident of its own, once the root of the first has recovered.

    Returns the services that left the incident.
    """
    members = (await incidents.members(db, [incident.id]))[incident.id]
    if not any(each.service == incident.service and each.recovered_at for each in members):
        return []
    own = [
        each.service
        for each in members
        if not each.recovered_at
        and each.service in failing
        and is_own_fault(each.service, evidence(failing[each.service]))
    ]
    if not own:
        return []
    left = await incidents.remove_members(db, incident, own, now=now)
    for name in own:
        text = f"Another fault is an incident of its own: {evidence(failing[name])}"
        await incidents.add_entry(db, incident.id, EntryKind.NOTE, text, service=name, now=now)
        await _open(db, [name], failing, services, repairs=repairs, now=now)
    await close_if_over(db, left, now=now)
    return own


async def _repair_at_once(
    db: Database, incident: Incident, names: Sequence[str], fix: ActionEvidence, *, now: datetime
) -> None:
    """Request a tier-3 session for the root cause: its repair is known."""
    text = f"Known fix: {fix.action} of {incident.service}. {fix}"
    session = SessionPlan(
        tier=MAX_TIER,
        trigger=Trigger.KNOWN_FIX,
        services=(incident.service,),
        prompt=f"{text}. Run this action, and verify that {incident.service} is healthy.",
    )
    await incidents.add_entry(
        db, incident.id, EntryKind.KNOWN_FIX, text, service=incident.service, now=now
    )
    await _request(db, incident, names, session, now=now)


async def _call_person(
    db: Database,
    incident: Incident,
    failing: FailingChecks,
    services: Services,
    *,
    now: datetime,
) -> Incident:
    """Notify people at once, and once, where no declared action of the root cause is left."""
    service = services.find(incident.service)
    if service is None or incident.service not in failing:
        return incident
    detail = evidence(failing[incident.service])
    known = await refused_actions(db, service, detail, now=now)
    if not known or any(each.name not in known for each in service.actions):
        return incident
    why = "; ".join(known.values())
    text = f"No declared action of {incident.service} repairs this. {why}"
    noted = await incidents.entries(db, incident.id)
    if any((each.kind, each.text) == (EntryKind.NO_FIX, text) for each in noted):
        return incident
    await incidents.add_entry(
        db, incident.id, EntryKind.NO_FIX, text, service=incident.service, now=now
    )
    rules = await notices.policy(db)
    if incident.person_notified_at or rules is None or not rules.tells(Level.CRITICAL):
        return incident
    await notify(
        db,
        incident,
        Level.CRITICAL,
        f"{incident.service} needs a person: {incident.title}. {why}",
        now=now,
    )
    first = incident.notified_at or now
    return await incidents.update(
        db, incident.id, person_notified_at=now, notified_at=first, now=now
    )


async def join(
    db: Database,
    incident: Incident,
    names: Sequence[str],
    failing: FailingChecks,
    services: Services,
    *,
    now: datetime,
) -> Incident:
    """Add services to an incident; one that explains its root takes the place of that."""
    since = {
        name: min(each.changed_at or now for each in failing[name])
        for name in {*names, *incident.services} & failing.keys()
    }
    root = root_of(services, since)
    joined = {name: evidence(failing[name]) for name in names}
    for name, detail in joined.items():
        await incidents.add_entry(db, incident.id, EntryKind.JOINED, detail, service=name, now=now)
    found = await incidents.add_members(db, incident, joined, root=root, now=now)
    if root == incident.service:
        return found
    title = shorten(one_line(f"{root} fails: {evidence(failing[root][:1])}"), TITLE_CHARS)
    configured = configuration_key(services.find(root))
    return await incidents.update(db, found.id, title=title, configured=configured, now=now)


async def _take_over(
    db: Database, incident: Incident, failing: FailingChecks, services: Services, *, now: datetime
) -> Incident:
    """Let failing checks decide over an incident that a session or a warning opened."""
    if not (incident.is_warning or incident.source is IncidentSource.SESSION):
        return incident
    own = sorted(failing.keys() & set(incident.services))
    for name in own:  # measured, in the place of what was reported or warned of
        await incidents.update_members(
            db, incident.id, [name], detail=shorten(evidence(failing[name]), DETAIL_CHARS)
        )
    root = incident.service if incident.service in own else own[0]
    key = configuration_key(services.find(root))
    if incident.is_warning:
        return await _worsen(db, incident, failing, root, configured=key, now=now)
    return await incidents.update(
        db, incident.id, source=IncidentSource.CHECK, configured=key, now=now
    )


async def _worsen(
    db: Database,
    incident: Incident,
    failing: FailingChecks,
    root: str,
    *,
    configured: str,
    now: datetime,
) -> Incident:
    """Make the incident of a warning one of a failure; its next results request a session."""
    own = sorted(failing.keys() & set(incident.services))
    title = shorten(one_line(f"{root} fails: {evidence(failing[root][:1])}"), TITLE_CHARS)
    for name in own:
        text = evidence(failing[name])
        await incidents.add_entry(
            db, incident.id, EntryKind.FAILED_AGAIN, text, service=name, now=now
        )
    await incidents.update_members(db, incident.id, own, investigated=False)
    return await incidents.update(
        db,
        incident.id,
        severity=Level.CRITICAL,
        service=root,
        title=title,
        configured=configured,
        notified_at=None,
        person_notified_at=None,
        now=now,
    )


async def _investigate(
    db: Database,
    incident: Incident,
    names: Sequence[str],
    failing: FailingChecks,
    *,
    now: datetime,
) -> None:
    """Request a session for members of an incident; a warning needs no tier 1 to notice it."""
    checks = ", ".join(f"{name}/{each.check}" for name in names for each in failing[name])
    noted = await incidents.entries(db, incident.id)
    before = "".join(f" {each.text}." for each in noted if each.kind is EntryKind.CHANGED)
    tier, what = (2, "Lasting warnings") if incident.is_warning else (1, "Failing checks")
    session = SessionPlan(
        tier=tier,
        trigger=Trigger.CHECK,
        services=tuple(names),
        prompt=f"{what}: {checks}.{before}",
    )
    await _request(db, incident, names, session, now=now)


async def _request(
    db: Database,
    incident: Incident,
    names: Sequence[str],
    session: SessionPlan,
    *,
    now: datetime,
) -> None:
    """Request a session for an incident; it covers the present failure of these members."""
    request = await requests.insert(db, session, now=now)
    await incidents.update_members(db, incident.id, names, investigated=True)
    await incidents.update(db, incident.id, request_id=request.id, requested_at=now, now=now)


async def _repair(
    db: Database, incident: Incident, members: Sequence[IncidentMember]
) -> dict[str, Any]:
    """Return the action after which the services were well, and when; empty without one."""
    folded = {normalize_service_name(each.service) for each in members}
    uses = await cooldowns.of_sessions(db, await incidents.session_ids(db, incident.id))
    repairs = [
        use
        for use in uses
        if use.outcome in REPAIRS and normalize_service_name(use.service) in folded
    ]
    if not repairs:
        return {}
    last = repairs[-1]
    named = last.name or str(last.action)
    where = "" if last.service == incident.service else f" of {last.service}"
    return {"action": f"{named}{where}", "repaired_at": last.settled_at}


async def _was_handled(db: Database, incident: Incident) -> bool:
    """Whether a person marked a member as handled during an incident."""
    for name in incident.services:
        at = await escalations.handled_at(db, name)
        if at is not None and at >= incident.detected_at:
            return True
    return False
