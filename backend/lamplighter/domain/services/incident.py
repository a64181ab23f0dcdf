"""Incidents: from the first failure of a root cause until all affected services are healthy."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.services.check import Check, PushCheck, longest_seconds
from lamplighter.domain.services.cooldown import CooldownUse
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.series import CheckSeries, PointState, SeriesPoint
from lamplighter.domain.services.service import Services, normalize_service_name

PASSES_TO_RECOVER: Final = 2
"""A service has recovered when every check of it passed this often in a row."""

PASSES_TO_LAST: Final = 5
LASTS: Final = timedelta(seconds=15)
"""The passes, or the time after the first one, after which a repaired service has recovered.

The sooner of both counts: a process that crashes soon after each start passes twice.
"""

REOPEN_AFTER: Final = timedelta(minutes=5)
"""A service that fails again sooner waits until it fails permanently, except for a known fix."""

GATHER: Final = timedelta(seconds=10)
"""The delay of the first notification, which collects all services that fail together."""

FLAPS: Final = 3
"""The number of failures within the rest period after which a service flaps.

The service recovered each time: a person is notified, and its incident lasts until the service has
not failed for that period.
"""

NOTE_CHARS: Final = 2_000
OFTEN: Final = 3
"""From this incident of a root cause in 24 hours on, the notification includes the count."""
MOST_NAMES: Final = 8
"""At most this many other services are named in a notification; further ones are counted."""


class IncidentState(StrEnum):
    """State of an incident; all but `resolved` are open."""

    OPEN = "open"
    INVESTIGATING = "investigating"
    REPAIRING = "repairing"
    WAITING = "waiting_for_approval"
    NEEDS_PERSON = "needs_person"
    RESOLVED = "resolved"


class IncidentOutcome(StrEnum):
    """The outcome of an incident; empty while the incident is open."""

    NONE = ""
    REPAIRED = "repaired"
    BY_PERSON = "repaired_by_person"
    RECOVERED = "recovered"
    UNRESOLVED = "unresolved"
    MERGED = "merged"


RECOVERIES: Final = (IncidentOutcome.REPAIRED, IncidentOutcome.BY_PERSON, IncidentOutcome.RECOVERED)
"""The outcomes after which the services are healthy."""


class IncidentSource(StrEnum):
    """The origin of an incident: a scheduled check, a session, or an alert of a monitor."""

    CHECK = "check"
    SESSION = "session"
    ALERT = "alert"


class EntryKind(StrEnum):
    """Kind of an entry that the timeline stores itself; the others are read from their tables."""

    OPENED = "opened"
    JOINED = "joined"
    FAILED_AGAIN = "failed_again"
    RECOVERED = "recovered"
    KNOWN_FIX = "known_fix"
    NO_FIX = "no_fix"
    FLAPPING = "flapping"
    CHANGED = "changed"
    STATE = "state"
    ALERT = "alert"
    ACKNOWLEDGED = "acknowledged"
    NOTE = "note"
    MERGED = "merged"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A stored incident; `service` is its root cause as far as known.

    `services` are all affected ones, the root included. `action` is the declared action that
    repaired the incident; the services were healthy after it at `repaired_at`. `requested_at` is
    the time of the last request for an investigation, `notified_at` of the first notification,
    `person_notified_at` of the notification that a person is needed.
    """

    id: int
    service: str
    services: tuple[str, ...]
    state: IncidentState
    severity: Level
    source: IncidentSource
    title: str
    outcome: IncidentOutcome = IncidentOutcome.NONE
    action: str = ""
    note: str = ""
    started_at: datetime
    detected_at: datetime
    acknowledged_at: datetime | None = None
    repaired_at: datetime | None = None
    resolved_at: datetime | None = None
    merged_into: int | None = None
    request_id: int | None = None
    requested_at: datetime | None = None
    notified_at: datetime | None = None
    person_notified_at: datetime | None = None
    version: int = 1
    configured: Annotated[str, Field(public=False)] = ""
    """The configuration of its root when the root failed."""

    @property
    def live(self) -> bool:
        """Whether it is open."""
        return self.state is not IncidentState.RESOLVED

    @property
    def reason(self) -> str:
        """Return its title without the name of the service, and without "fails"."""
        text = self.title.removeprefix(self.service).lstrip(": ")
        return text.removeprefix("fails: ").removeprefix("warns: ")

    @property
    def is_warning(self) -> bool:
        """Whether its check passes with a lasting warning."""
        return self.source is IncidentSource.CHECK and self.severity is Level.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentMember:
    """A service that an incident affects.

    `investigated` is whether a request of the incident covers its present failure, `failures` the
    number of its failures during the incident. `detail` quotes the evidence.
    """

    incident_id: int
    service: str
    joined_at: datetime
    detail: str = ""
    investigated: bool = False
    failures: int = 1
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Flaps:
    """The number of times a service failed and recovered since its last incident was detected."""

    count: int
    started_at: datetime
    now: datetime

    def __str__(self) -> str:
        """Return the text for the title of an incident."""
        seconds = round((self.now - self.started_at).total_seconds())
        return f"failed {self.count} times in {seconds} s"


@dataclass(frozen=True, slots=True)
class IncidentPlan:
    """The changes of incidents for a set of failing and passing services.

    Each group of `open` is a new incident, its root first. `join` maps services to the incident
    that they join, `merge` incidents to the one that they become part of. `failed_again` and
    `recovered` are members, `investigate` maps incidents to the members that need a request.
    """

    open: tuple[tuple[str, ...], ...] = ()
    join: Mapping[str, int] = field(default_factory=dict)
    merge: Mapping[int, int] = field(default_factory=dict)
    failed_again: frozenset[str] = frozenset()
    recovered: frozenset[str] = frozenset()
    investigate: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def plan_incidents(
    services: Services,
    failing: Mapping[str, datetime],
    passing: Set[str],
    live: Mapping[int, tuple[Incident, Sequence[IncidentMember]]],
    last_detected: Mapping[str, datetime],
    *,
    idle: Set[int] = frozenset(),
    apart: Set[str] = frozenset(),
    now: datetime,
) -> IncidentPlan:
    """Return the plan for failing services (with the start of each failure) and passing ones.

    Services that depend on each other, also indirectly through failing ones, are one incident.
    `last_detected` is the time of each service's last incident, after which a new one must wait.
    The incidents of `idle` need another investigation: no work on them is in progress.
    """
    members = {each.service: each for _, some in live.values() for each in some}
    opened: list[tuple[str, ...]] = []
    join: dict[str, int] = {}
    merge: dict[int, int] = {}
    for group in connected(services, failing.keys() - apart):
        incidents = {members[name].incident_id for name in group if name in members}
        root = root_of(services, {name: failing[name] for name in group})
        into = members[root].incident_id if root in members else min(incidents, default=0)
        if len(incidents) > 1:
            merge |= _merges(into, {each: live[each] for each in incidents}, group, failing, root)
        beside = {members[name].incident_id for name in apart & services.needs_of(root)}
        incidents = incidents or beside or _ending(services, group, failing.keys(), live)
        if incidents:
            join |= dict.fromkeys(sorted(group - members.keys()), into or min(incidents))
            continue
        if fresh := {name for name in group if is_due(last_detected.get(name), now)}:
            root = root_of(services, {name: failing[name] for name in fresh})
            opened.append((root, *sorted(fresh - {root})))
    again = {name for name, each in members.items() if name in failing and each.recovered_at}
    return IncidentPlan(
        open=tuple(opened),
        join=join,
        merge=merge,
        failed_again=frozenset(again),
        recovered=frozenset(
            name for name, each in members.items() if name in passing and not each.recovered_at
        ),
        investigate={
            number: due
            for number, (incident, some) in live.items()
            if (due := _uncovered(incident, some, failing.keys() - again, join, idle, now=now))
        },
    )


def _merges(
    into: int,
    live: Mapping[int, tuple[Incident, Sequence[IncidentMember]]],
    group: Set[str],
    failing: Mapping[str, datetime],
    root: str,
) -> dict[int, int]:
    """Return the incidents of a group that its root explains, each with the root's incident.

    They were opened before the failure of the root was known. An incident with an unrelated failure
    stays separate.
    """
    if not _is_of_failures(live[into][0]):
        return {}
    return {
        number: into
        for number, (incident, members) in live.items()
        if number != into
        and _is_of_failures(incident)
        and incident.service in group
        and failing.keys() & {each.service for each in members} <= group
        and abs(failing[root] - incident.detected_at) < REOPEN_AFTER
    }


def _is_of_failures(incident: Incident) -> bool:
    return incident.source is IncidentSource.CHECK and not incident.is_warning


def _ending(
    services: Services,
    group: Set[str],
    failing: Set[str],
    live: Mapping[int, tuple[Incident, Sequence[IncidentMember]]],
) -> set[int]:
    """Return the incidents about to end among the dependencies of a group.

    All of their members pass again: the failure of the group was measured just before.
    """
    some = [found for name in group if (found := services.find(name))]
    needs = {each.name for each in services.with_needs(some)}
    return {
        number
        for number, (incident, members) in live.items()
        if _is_of_failures(incident)
        and incident.request_id is not None
        and needs & {each.service for each in members}
        and not failing & {each.service for each in members}
    }


def has_recovered(each: CheckSeries, *, acted: bool, flaps: bool = False) -> bool:
    """Whether a check passed often enough, and for long enough after an action on its service.

    A push check may run once a day: one report is enough, unless the check `flaps`.
    """
    if each.failing or each.changed_at is None or each.checked_at is None:
        return False
    if flaps:
        return each.checked_at - each.changed_at >= REOPEN_AFTER
    if each.kind == PushCheck.kind:
        return True
    lasts = not acted or _lasts(each.streak, each.checked_at - each.changed_at)
    return each.streak >= PASSES_TO_RECOVER and lasts


def _lasts(passes: int, span: timedelta) -> bool:
    """Whether a check that an action repaired passed often enough, or for long enough."""
    return passes >= PASSES_TO_LAST or span >= LASTS


def fails_after(
    use: CooldownUse,
    each: CheckSeries,
    check: Check,
    passed: Sequence[SeriesPoint],
    *,
    observed: bool,
) -> bool:
    """Whether the failure of a check shows that an action on its service did not last.

    `passed` are its results between the recovery and this failure: too few to last. Without
    results, its last run must have begun after the recovery, and the check must not have failed
    throughout, unless the session of the action has `observed` a pass. A push check has no runs of
    its own.
    """
    if passed:
        return not _lasts(len(passed), passed[-1].at - passed[0].at)
    if each.kind == PushCheck.kind or each.checked_at is None or each.changed_at is None:
        return False
    began = each.checked_at - timedelta(seconds=longest_seconds(check))
    return began > use.healthy_at and (observed or each.changed_at > use.created_at)


def root_of(services: Services, failing: Mapping[str, datetime]) -> str:
    """Return the failing service that no other failing one explains, the first to fail."""
    roots = [name for name in failing if not services.needs_of(name) & failing.keys()]
    return min(roots or failing, key=lambda name: (failing[name], name))


def is_member(incident: Incident, service: str) -> bool:
    """Whether a service belongs to an incident; spelling of the name is normalized."""
    folded = normalize_service_name(service)
    return any(normalize_service_name(each) == folded for each in incident.services)


def is_rested(incident: Incident, now: datetime) -> bool:
    """Whether the last request of an incident is long enough ago for another one."""
    return is_due(incident.requested_at, now)


def is_due(last: datetime | None, now: datetime) -> bool:
    """Whether the last incident or request is long enough ago for another one."""
    return last is None or now - last >= REOPEN_AFTER


def count_failures(states: Iterable[PointState]) -> int:
    """Return the number of failures of a check, from its results since it was found failing."""
    failed = [each is PointState.FAILED for each in states if each is not PointState.INCONCLUSIVE]
    return 1 + sum(after and not before for before, after in pairwise(failed))


def _uncovered(
    incident: Incident,
    members: Sequence[IncidentMember],
    failing: Set[str],
    join: Mapping[str, int],
    idle: Set[int],
    *,
    now: datetime,
) -> tuple[str, ...]:
    """Return the failing members without an investigation, after those investigated have recovered.

    An interrupted investigation covers nothing, nor does one whose repair did not last.
    """
    still = [each for each in members if each.service in failing and not each.recovered_at]
    if incident.id in idle and incident.id not in join.values():
        return tuple(sorted(each.service for each in still))
    if any(each.investigated for each in still) or incident.id in join.values():
        return ()
    return tuple(
        sorted(each.service for each in still if each.failures == 1 or is_rested(incident, now))
    )


def connected(services: Services, failing: Set[str]) -> list[set[str]]:
    """Return the failing services in groups of connected dependencies."""
    groups: list[set[str]] = []
    links, rest = services.links(failing), sorted(failing)
    while rest:
        group, queue = {rest[0]}, [rest[0]]
        while queue:
            near = links[queue.pop()]
            queue += sorted(near - group)
            group |= near
        groups.append(group)
        rest = [name for name in rest if name not in group]
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentWork:
    """The current work on an incident.

    `tiers` are the tiers of its running sessions; `acting` is whether an action runs, `waiting`
    whether an approval is open, `person` whether a person was asked, `handed_on` whether the next
    tier is about to begin.
    """

    tiers: frozenset[int] = frozenset()
    acting: bool = False
    waiting: bool = False
    person: bool = False
    handed_on: bool = False


def state_of(work: IncidentWork, before: IncidentState = IncidentState.OPEN) -> IncidentState:
    """Return the state of an open incident; between two tiers the state does not change."""
    if work.waiting:
        return IncidentState.WAITING
    if work.acting or 3 in work.tiers:
        return IncidentState.REPAIRING
    if work.tiers:
        return IncidentState.INVESTIGATING
    if work.handed_on and before in (IncidentState.INVESTIGATING, IncidentState.REPAIRING):
        return before
    return IncidentState.NEEDS_PERSON if work.person else IncidentState.OPEN


def outcome_of(*, action: str, handled: bool) -> IncidentOutcome:
    """Return the outcome of a recovered incident: repaired, repaired by a person, or recovered.

    `handled` is whether a person took over a service before the incident recovered.
    """
    if action:
        return IncidentOutcome.REPAIRED
    return IncidentOutcome.BY_PERSON if handled else IncidentOutcome.RECOVERED


def opening_words(incident: Incident, times: int = 1) -> str:
    """Return the notification text of an incident, the `times`-th within a day."""
    often = f" This is incident {times} with this root cause in 24 h." if times >= OFTEN else ""
    return f"{incident.title.removesuffix('.')}.{_also_affected(incident)}{often}"


def person_words(incident: Incident, reason: str) -> str:
    """Return the notification text of an incident that needs a person."""
    text = f"{incident.service} needs a person: {reason}"
    more = _also_affected(incident)
    return f"{text.removesuffix('.')}.{more}" if more else text


def _also_affected(incident: Incident) -> str:
    others = [name for name in incident.services if name != incident.service]
    more = f" and {len(others) - MOST_NAMES} more" if len(others) > MOST_NAMES else ""
    return f" Also affected: {', '.join(others[:MOST_NAMES])}{more}." if others else ""


def resolved_words(incident: Incident) -> str:
    """Return the end of an incident as text: its duration, and the repair."""
    ended = incident.repaired_at or incident.resolved_at or incident.started_at
    seconds = max(1, round((ended - incident.started_at).total_seconds()))
    time = f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"
    subject = f"The incident of {incident.service} was"
    match incident.outcome:
        case IncidentOutcome.UNRESOLVED:
            return f"{subject} closed without a repair after {time}"
        case IncidentOutcome.MERGED:
            return f"{subject} merged into incident {incident.merged_into}"
        case IncidentOutcome.REPAIRED:
            how = f"repaired by {incident.action}"
        case IncidentOutcome.BY_PERSON:
            how = "repaired by a person"
        case _:
            how = "it recovered without a repair by Lamplighter"
    return f"{incident.service} is healthy again after {time}; {how}"
