"""The steps of incidents: opened, extended and investigated."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.learning.advice import ActionEvidence, configuration_key
from lamplighter.domain.learning.signature import LATER, is_own_fault
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import (
    FLAPS,
    EntryKind,
    Flaps,
    Incident,
    IncidentPlan,
    IncidentSource,
    IncidentState,
    root_of,
)
from lamplighter.domain.services.series import CheckSeries
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan, Trigger
from lamplighter.domain.text import one_line, shorten
from lamplighter.repository import Database
from lamplighter.repository.services import incidents, notices, series
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services.incidents import changes
from lamplighter.usecases.services.incidents.advise import advice_on
from lamplighter.usecases.services.incidents.closing import close_if_over, notify, recover
from lamplighter.usecases.services.incidents.lasting import refused_actions
from lamplighter.usecases.services.incidents.merge import merge_found

TITLE_CHARS: Final = 200
DETAIL_CHARS: Final = 1_000

FailingChecks = Mapping[str, Sequence[CheckSeries]]
"""The failing checks of each failing service."""

FLAPPING: Final = "Each failure ended by itself. The incident ends after 5 minutes without one"


async def apply(
    db: Database,
    plan: IncidentPlan,
    failing: FailingChecks,
    services: Services,
    flaps: Mapping[str, Flaps] | None = None,
    *,
    repairs: bool = False,
    now: datetime,
) -> set[str]:
    """Do what a plan says, in the transaction of the results that it is made of.

    `repairs` says that a session of tier 3 may begin where the repair is known. Of a root that
    flaps, a person is notified, and no session begins. Return the services to check now: whether
    they need an investigation shows in their next result.
    """
    awaited: set[str] = set()
    for group in plan.open:
        flapped = (flaps or {}).get(group[0])
        await _open(db, group, failing, services, flapped=flapped, repairs=repairs, now=now)
    await merge_found(db, plan.merge, now=now)
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
        due = [name for name in plan.investigate.get(incident.id, ()) if name not in gone]
        if due:
            awaited |= await _investigate_failed(db, incident, due, failing, services, now=now)
    return awaited


async def _investigate_failed(
    db: Database,
    incident: Incident,
    names: Sequence[str],
    failing: FailingChecks,
    services: Services,
    *,
    now: datetime,
) -> set[str]:
    """Request an investigation of those that failed since the recovery; return the others."""
    failed = await _failed_since_recovery(db, incident, names, failing)
    if failed:
        incident = await _call_person(db, incident, failing, services, now=now)
        await _investigate(db, incident, failed, failing, now=now)
    return set(names) - set(failed)


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
    incident = await incidents.insert(
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
    incident = await incidents.add_members(db, incident, evidence_of, root=root, now=now)
    await incidents.add_entry(
        db, incident.id, EntryKind.OPENED, incident.title, service=root, now=now
    )
    for name in evidence_of:
        if name != root:
            await incidents.add_entry(
                db, incident.id, EntryKind.JOINED, evidence_of[name], service=name, now=now
            )
    return incident


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
    flapped: Flaps | None,
    repairs: bool,
    now: datetime,
) -> None:
    root, detail = group[0], evidence(failing[group[0]])
    started_at = min(each.changed_at or now for name in group for each in failing[name])
    incident = await open_incident(
        db,
        IncidentSource.CHECK,
        root,
        {name: evidence(failing[name]) for name in group},
        title=f"{root} {flapped or 'fails'}: {evidence(failing[root][:1])}",
        started_at=started_at,
        configured=configuration_key(services.find(root)),
        now=now,
    )
    if change := await changes.change_before(db, services, root, started_at):
        await incidents.add_entry(
            db, incident.id, EntryKind.CHANGED, change.sentence, service=change.service, now=now
        )
    if flapped:
        await _note_flaps(db, incident, group, flapped, now=now)
        return
    found = await advice_on(db, services.find(root), detail, now=now)
    if found.fix and repairs:
        await _repair_at_once(db, incident, sorted(group), found.fix, now=now)
        return
    incident = await _call_person(db, incident, failing, services, now=now)
    await _investigate(db, incident, sorted(group), failing, now=now)


async def _note_flaps(
    db: Database, incident: Incident, group: Sequence[str], flapped: Flaps, *, now: datetime
) -> None:
    """Leave a root that flaps to a person; if it fails for good, its rest is waited for."""
    await incidents.add_entry(
        db, incident.id, EntryKind.FLAPPING, FLAPPING, service=group[0], now=now
    )
    await incidents.update_members(db, incident.id, group, failures=flapped.count)
    await incidents.update(db, incident.id, requested_at=flapped.started_at, now=now)


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
        await _open(db, [name], failing, services, flapped=None, repairs=repairs, now=now)
    await close_if_over(db, left, now=now)
    return own


async def _failed_since_recovery(
    db: Database, incident: Incident, names: Sequence[str], failing: FailingChecks
) -> list[str]:
    """Return the services that failed since another member of the incident passes again.

    The others may be healthy too: their next results decide. A job that pings may run once a
    day: its last result counts.
    """
    passing = [
        each.changed_at
        for each in await series.of_services(db, incident.services)
        if not each.failing and each.changed_at
    ]
    last = max(passing, default=incident.started_at)
    return [
        name
        for name in names
        if any(
            each.kind == PushCheck.kind or (each.checked_at and each.checked_at >= last)
            for each in failing[name]
        )
    ]


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
    # it may pass already when what it explains is found failing
    root = root_of(services, {incident.service: incident.started_at, **since})
    joined = {name: evidence(failing[name]) for name in names}
    for name, detail in joined.items():
        await incidents.add_entry(db, incident.id, EntryKind.JOINED, detail, service=name, now=now)
    updated = await incidents.add_members(db, incident, joined, root=root, now=now)
    if await incidents.flapping(db, [incident]):  # no session begins for these either
        await incidents.update_members(db, incident.id, names, failures=FLAPS)
    if root == incident.service:
        return updated
    title = shorten(one_line(f"{root} fails: {evidence(failing[root][:1])}"), TITLE_CHARS)
    configured = configuration_key(services.find(root))
    return await incidents.update(db, updated.id, title=title, configured=configured, now=now)


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
