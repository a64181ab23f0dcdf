"""The steps of incidents: opened, extended and investigated."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
from lamplighter.repository.services import incidents, series
from lamplighter.repository.sessions import requests
from lamplighter.usecases.services.incidents.advise import advice_on, change_before
from lamplighter.usecases.services.incidents.closing import (
    close_if_over,
    merge_found,
    notify_person,
    recover,
)
from lamplighter.usecases.services.incidents.lasting import refused_actions

TITLE_CHARS: Final = 200
DETAIL_CHARS: Final = 1_000

FailingChecks = Mapping[str, Sequence[CheckSeries]]
"""The failing checks of each failing service."""

FLAPPING: Final = "Each failure ended by itself. The incident ends after 5 minutes without one"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureContext:
    """What the steps of incidents work with, in the transaction of the results.

    `repairs` says that a session of tier 3 may begin where the repair is known.
    """

    db: Database
    failing: FailingChecks
    services: Services
    now: datetime
    repairs: bool = False

    def evidence(self, service: str) -> str:
        """Return what the failing checks of a service found."""
        return evidence(self.failing[service])

    def title(self, root: str, what: object = "fails") -> str:
        """Return the title of an incident with this root."""
        return _title(f"{root} {what}: {evidence(self.failing[root][:1])}")

    async def open(self, group: Sequence[str], what: object, **values: Any) -> Incident:
        """Open an incident of failing services, the root first."""
        return await open_incident(
            self.db,
            IncidentSource.CHECK,
            group[0],
            {name: self.evidence(name) for name in group},
            title=self.title(group[0], what),
            now=self.now,
            **values,
        )

    async def note(self, incident: Incident, kind: EntryKind, text: str, service: str) -> None:
        """Add an entry about a service to the timeline of an incident."""
        await incidents.add_entry(self.db, incident.id, kind, text, service=service, now=self.now)

    async def update(self, incident: Incident, **values: Any) -> Incident:
        """Store what changes of an incident."""
        return await incidents.update(self.db, incident.id, **values, now=self.now)

    async def update_members(
        self, incident: Incident, names: Collection[str], **values: Any
    ) -> None:
        """Store what changes of some services of an incident."""
        await incidents.update_members(self.db, incident.id, names, **values)


async def apply(
    here: FailureContext, plan: IncidentPlan, flaps: Mapping[str, Flaps] | None = None
) -> set[str]:
    """Do what a plan says, in the transaction of the results that it is made of.

    Of a root that flaps, a person is notified, and no session begins. Return the services to
    check now: whether they need an investigation shows in their next result.
    """
    awaited: set[str] = set()
    for group in plan.open:
        await _open(here, group, (flaps or {}).get(group[0]))
    await merge_found(here.db, plan.merge, now=here.now)
    for incident in await incidents.live(here.db):
        if here.failing.keys() & set(incident.services):
            incident = await _take_over(here, incident)
        joining = [name for name, number in plan.join.items() if number == incident.id]
        if joining:
            incident = await join(here, incident, joining)
        own = plan.failed_again & set(incident.services)
        if own:
            await here.update_members(incident, own, again=True, recovered_at=None)
            for name in sorted(own):
                await here.note(incident, EntryKind.FAILED_AGAIN, here.evidence(name), name)
        await _add_evidence(here, incident)
        recovered = plan.recovered & set(incident.services)
        await recover(here.db, incident, recovered, now=here.now)
        gone = await _separate_faults(here, incident)
        due = [name for name in plan.investigate.get(incident.id, ()) if name not in gone]
        if due:
            awaited |= await _investigate_failed(here, incident, due)
    return awaited


async def open_warning(here: FailureContext, group: Sequence[str]) -> None:
    """Open the incident of lasting warnings, the root first, and request its investigation."""
    incident = await here.open(group, "warns", severity=Level.WARNING, started_at=here.now)
    await _investigate(here, incident, sorted(group))


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
    """Open an incident; `evidence_of` are its services, each with the evidence of its failure."""
    incident = await incidents.insert(
        db,
        service=root,
        state=IncidentState.OPEN,
        severity=severity,
        source=source,
        title=_title(title),
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


def _title(text: str) -> str:
    return shorten(one_line(text), TITLE_CHARS)


def evidence(some: Sequence[CheckSeries]) -> str:
    """Return the results of failing checks, one line each."""
    lines = [f"{each.check}: {one_line(each.detail) or 'failed'}" for each in some]
    return shorten("\n".join(lines), DETAIL_CHARS)


async def _add_evidence(here: FailureContext, incident: Incident) -> None:
    """Add checks of members that failed later to their evidence."""
    names = here.failing.keys() & set(incident.services)
    for each in await incidents.members_of(here.db, incident.id) if names else ():
        lines = each.detail.splitlines()
        known = {line.removeprefix(LATER).partition(": ")[0] for line in lines}
        new = [one for one in here.failing.get(each.service, ()) if one.check not in known]
        if new and not each.recovered_at:
            more = "\n".join(f"{LATER}{line}" for line in evidence(new).splitlines())
            detail = shorten(f"{each.detail}\n{more}", DETAIL_CHARS)
            await here.update_members(incident, [each.service], detail=detail)


async def _open(here: FailureContext, group: Sequence[str], flapped: Flaps | None) -> None:
    """Open the incident of failing services, the root first.

    A flapping root is left to a person; a lasting failure waits for the end of its rest.
    """
    root, service = group[0], here.services.find(group[0])
    started_at = min(each.changed_at or here.now for name in group for each in here.failing[name])
    incident = await here.open(
        group, flapped or "fails", started_at=started_at, configured=configuration_key(service)
    )
    if change := await change_before(here.db, here.services, root, started_at):
        await here.note(incident, EntryKind.CHANGED, change.sentence, change.service)
    if flapped:
        await here.note(incident, EntryKind.FLAPPING, FLAPPING, root)
        await here.update_members(incident, group, failures=flapped.count)
        await here.update(incident, requested_at=flapped.started_at)
        return
    found = await advice_on(here.db, service, here.evidence(root), now=here.now)
    if found.fix and here.repairs:
        await _repair_at_once(here, incident, sorted(group), found.fix)
        return
    incident = await _call_person(here, incident)
    await _investigate(here, incident, sorted(group))


async def _separate_faults(here: FailureContext, incident: Incident) -> list[str]:
    """Open a separate incident for a second fault, once the root of the first has recovered.

    Returns the services that left the incident.
    """
    members = await incidents.members_of(here.db, incident.id)
    if not any(each.service == incident.service and each.recovered_at for each in members):
        return []
    own = [
        each.service
        for each in members
        if not each.recovered_at
        and each.service in here.failing
        and is_own_fault(each.service, here.evidence(each.service))
    ]
    if not own:
        return []
    left = await incidents.remove_members(here.db, incident, own, now=here.now)
    for name in own:
        text = f"Another fault is an incident of its own: {here.evidence(name)}"
        await here.note(incident, EntryKind.NOTE, text, name)
        await _open(here, [name], None)
    await close_if_over(here.db, left, now=here.now)
    return own


async def _investigate_failed(
    here: FailureContext, incident: Incident, names: Sequence[str]
) -> set[str]:
    """Request an investigation of services that failed since another member passed; return others.

    Those may be healthy too: their next results decide. A job with a push check may run once a
    day: its last result counts.
    """
    passing = [
        each.changed_at
        for each in await series.of_services(here.db, incident.services)
        if not each.failing and each.changed_at
    ]
    last = max(passing, default=incident.started_at)
    failed = [
        name
        for name in names
        if any(
            each.kind == PushCheck.kind or (each.checked_at and each.checked_at >= last)
            for each in here.failing[name]
        )
    ]
    if failed:
        await _investigate(here, await _call_person(here, incident), failed)
    return set(names) - set(failed)


async def _repair_at_once(
    here: FailureContext, incident: Incident, names: Sequence[str], fix: ActionEvidence
) -> None:
    """Request a tier-3 session for the root cause, because its repair is known."""
    text = f"Known fix: {fix.action} of {incident.service}. {fix}"
    session = SessionPlan(
        tier=MAX_TIER,
        trigger=Trigger.KNOWN_FIX,
        services=(incident.service,),
        prompt=f"{text}. Run this action, and verify that {incident.service} is healthy.",
    )
    await here.note(incident, EntryKind.KNOWN_FIX, text, incident.service)
    await _request(here, incident, names, session)


async def _call_person(here: FailureContext, incident: Incident) -> Incident:
    """Notify people at once, and only once, if no declared action of the root cause is left."""
    service = here.services.find(incident.service)
    if service is None or incident.service not in here.failing:
        return incident
    detail = here.evidence(incident.service)
    known = await refused_actions(here.db, service, detail, now=here.now)
    if not known or any(each.name not in known for each in service.actions):
        return incident
    why = "; ".join(known.values())
    text = f"No declared action of {incident.service} repairs this: {why}"
    noted = await incidents.entries(here.db, incident.id)
    if any((each.kind, each.text) == (EntryKind.NO_FIX, text) for each in noted):
        return incident
    await here.note(incident, EntryKind.NO_FIX, text, incident.service)
    return await notify_person(here.db, incident, f"{incident.reason}; {why}", now=here.now)


async def join(here: FailureContext, incident: Incident, names: Sequence[str]) -> Incident:
    """Add services to an incident; a service that explains its root becomes the root."""
    since = {
        name: min(each.changed_at or here.now for each in here.failing[name])
        for name in {*names, *incident.services} & here.failing.keys()
    }
    # the root may already be healthy when its dependents are found failing
    root = root_of(here.services, {incident.service: incident.started_at, **since})
    joined = {name: here.evidence(name) for name in names}
    for name, detail in joined.items():
        await here.note(incident, EntryKind.JOINED, detail, name)
    updated = await incidents.add_members(here.db, incident, joined, root=root, now=here.now)
    if await incidents.flapping(here.db, [incident]):  # no session starts for these either
        await here.update_members(incident, names, failures=FLAPS)
    if root == incident.service:
        return updated
    configured = configuration_key(here.services.find(root))
    return await here.update(updated, title=here.title(root), configured=configured)


async def _take_over(here: FailureContext, incident: Incident) -> Incident:
    """Base an incident that a session or a warning opened on its failing checks.

    A warning becomes a failure; its next results request a session.
    """
    if not (incident.is_warning or incident.source is IncidentSource.SESSION):
        return incident
    own = sorted(here.failing.keys() & set(incident.services))
    for name in own:  # measured details replace reported ones
        await here.update_members(incident, [name], detail=here.evidence(name))
    root = incident.service if incident.service in own else own[0]
    key = configuration_key(here.services.find(root))
    if not incident.is_warning:
        return await here.update(incident, source=IncidentSource.CHECK, configured=key)
    for name in own:
        await here.note(incident, EntryKind.FAILED_AGAIN, here.evidence(name), name)
    await here.update_members(incident, own, investigated=False)
    return await here.update(
        incident,
        severity=Level.CRITICAL,
        service=root,
        title=here.title(root),
        configured=key,
        notified_at=None,
        person_notified_at=None,
    )


async def _investigate(here: FailureContext, incident: Incident, names: Sequence[str]) -> None:
    """Request a session for members of an incident; a warning needs no tier 1 to notice it."""
    checks = ", ".join(f"{name}/{each.check}" for name in names for each in here.failing[name])
    noted = await incidents.entries(here.db, incident.id)
    before = "".join(f" {each.text}." for each in noted if each.kind is EntryKind.CHANGED)
    tier, what = (2, "Lasting warnings") if incident.is_warning else (1, "Failing checks")
    session = SessionPlan(
        tier=tier,
        trigger=Trigger.CHECK,
        services=tuple(names),
        prompt=f"{what}: {checks}.{before}",
    )
    await _request(here, incident, names, session)


async def _request(
    here: FailureContext, incident: Incident, names: Sequence[str], session: SessionPlan
) -> None:
    """Request a session for an incident; it covers the current failure of these members."""
    request = await requests.insert(here.db, session, now=here.now)
    await here.update_members(incident, names, investigated=True)
    await here.update(incident, request_id=request.id, requested_at=here.now)
