"""Check runs: results become a series, and a failing check opens an incident."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.learning.signature import is_own_fault
from lamplighter.domain.services import series as rules
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.checks.silence import (
    ServicePause,
    mark_silent,
    silences_of,
    with_expected_failures,
)
from lamplighter.domain.services.cooldown import CooldownUse, UseOutcome
from lamplighter.domain.services.incident import (
    FLAPS,
    REOPEN_AFTER,
    Flaps,
    Incident,
    IncidentMember,
    IncidentSource,
    count_failures,
    has_recovered,
    is_due,
    is_member,
    is_rested,
    plan_incidents,
)
from lamplighter.domain.services.series import DETAIL_CHARS, EPOCH, CheckRun, CheckSeries
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.domain.text import shorten
from lamplighter.repository import Database, writing
from lamplighter.repository.services import cooldowns, incidents, pauses, series
from lamplighter.repository.services.series import SeriesKey
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.context import Context
from lamplighter.usecases.services.incidents import closing, lasting
from lamplighter.usecases.services.incidents import steps as incident_steps
from lamplighter.usecases.services.incidents.advise import has_known_fix
from lamplighter.usecases.services.incidents.steps import FailureContext

AT_ONCE: Final = 200
"""The number of results in one transaction: about 10 ms, to let other writers continue."""


REPAIRED_AT_ONCE: Final = 20
"""The most services to look up per transaction for a known fix, the longest rested first."""

FLAPPING_AT_ONCE: Final = 50
"""The most flapping services to look up per transaction, the longest rested first."""

FOR_GOOD: Final = timedelta(minutes=1)
"""How long a service fails without a break until its failure counts as lasting.

Then its rest is over, and a flapping service is investigated.
"""

PATIENCE: Final = timedelta(seconds=10)
"""How long a failing service waits for new results of its dependencies."""


async def record(
    here: Context,
    runs: Sequence[CheckRun],
    services: Services,
    *,
    again: bool = False,
    repairs: bool = False,
) -> set[str]:
    """Store at most `AT_ONCE` results; failing services get an investigation in the same write.

    `again` means that these may be stored already: the answer to their write was lost. `repairs`
    means that a known repair may start at once. Returns the services to check now: failing services
    depend on them, and wait for their results.
    """
    some = [
        replace(run, detail=shorten(here.redact(run.detail), DETAIL_CHARS)) if run.detail else run
        for run in runs
    ]
    async with writing(here.db):
        now = here.now()
        paused = await pauses.covering(here.db, since=min((now, *(run.at for run in some))))
        await _store(here.db, mark_silent(some, services, paused), again=again)
        return await _detect(here.db, services, paused, repairs=repairs, now=now)


async def _store(db: Database, runs: Sequence[CheckRun], *, again: bool) -> None:
    keys = [(run.service, run.check) for run in runs]
    by_key = await series.find(db, list(dict.fromkeys(keys)))
    points: dict[tuple[int, datetime], CheckRun] = {}
    changed: dict[SeriesKey, CheckSeries] = {}
    before = (
        await series.stored(
            db,
            [
                (by_key[key].id, run.at)
                for key, run in zip(keys, runs, strict=True)
                if key in by_key
            ],
        )
        if again
        else set()
    )
    for key, run in zip(keys, runs, strict=True):
        if key in by_key and (by_key[key].id, run.at) in before:
            continue
        if key not in by_key:
            by_key[key] = await series.create(db, run)
        points[by_key[key].id, run.at] = run
        by_key[key] = changed[key] = rules.advance(by_key[key], run)
    await series.insert_points(db, [(number, run) for (number, _), run in points.items()])
    await series.update(db, list(changed.values()))


async def _detect(
    db: Database,
    services: Services,
    paused: Sequence[ServicePause],
    *,
    repairs: bool,
    now: datetime,
) -> set[str]:
    """Open, extend and close incidents from the results; return the services to check now."""
    failing_series = await series.failing(db)
    failing = _declared(failing_series, services, paused, now=now)
    live = await incidents.live(db)
    if not failing and not live:
        return set()
    members = await incidents.members(db, [each.id for each in live])
    inside = {each.service for some in members.values() for each in some}
    needs = {
        name: {name, *services.needs_of(name)}
        for name in failing.keys() - inside
        if now - _failing_from(name, failing_series) < PATIENCE
    }
    concerned = inside.union(*needs.values())
    checked = await series.of_services(db, sorted(concerned)) if concerned else []
    awaited = _awaited(services, needs, checked, failing_series, inside)
    ready = {name: each for name, each in failing.items() if not awaited.get(name)}
    acts = await lasting.note_failed_again(
        db, await cooldowns.of_incidents(db, [each.id for each in live]), ready, services, now=now
    )
    last = await _last_detected(db, ready, inside, services, repairs=repairs, now=now)
    flapping = await _flapping(db, last, ready, now=now)
    flapped = await incidents.flapping(db, live)
    plan = plan_incidents(
        services,
        {name: _failing_from(name, failing_series) for name in ready},
        _passing(
            _watched(live, members),
            checked,
            services,
            acts,
            flapped={each.service for number in flapped for each in members[number]},
        ),
        {each.id: (each, members[each.id]) for each in live},
        await _resting(db, last, flapping, ready, now=now),
        idle={each.id for each in live if await _is_idle(db, each, ready, acts, now=now)},
        apart=_apart(live, ready),
        now=now,
    )
    plan = replace(plan, investigate=_due(plan.investigate, flapped, failing_series, now=now))
    here = FailureContext(db=db, failing=ready, services=services, now=now, repairs=repairs)
    return (await incident_steps.apply(here, plan, flapping)).union(*awaited.values())


def _watched(live: Sequence[Incident], members: Mapping[int, Sequence[IncidentMember]]) -> set[str]:
    """Return the services whose passing checks end their incident.

    Incidents reported by a session or a monitor, and those of warnings, end by their own rules.
    """
    return {
        each.service
        for incident in live
        if incident.source is IncidentSource.CHECK and not incident.is_warning
        for each in members[incident.id]
    }


def _due(
    investigate: Mapping[int, tuple[str, ...]],
    flapped: Collection[int],
    failing_series: Sequence[CheckSeries],
    *,
    now: datetime,
) -> dict[int, tuple[str, ...]]:
    """Return the services to investigate: a flapping service only if its failure is lasting."""
    return {
        number: names
        for number, names in investigate.items()
        if number not in flapped
        or any(now - _failing_from(name, failing_series) >= FOR_GOOD for name in names)
    }


async def _resting(
    db: Database,
    last: Mapping[str, datetime],
    flapping: Collection[str],
    failing: incident_steps.FailingChecks,
    *,
    now: datetime,
) -> dict[str, datetime]:
    """Return the times of the last incidents of resting services, which fail again only briefly.

    A service that recovers by itself again and again rests too: it soon counts as flapping.
    """
    resting = {name: at for name, at in last.items() if name not in flapping}
    lasting = [
        name
        for name, at in resting.items()
        if not is_due(at, now) and _fails_for_good(failing[name], now=now)
    ]
    if not lasting:
        return resting
    short = await incidents.count_recovered(db, lasting, start=now - 2 * REOPEN_AFTER)
    over = {name for name in lasting if short.get(name, 0) < FLAPS - 1}
    return {name: at for name, at in resting.items() if name not in over}


def _fails_for_good(failing: Sequence[CheckSeries], *, now: datetime) -> bool:
    """Whether a service has failed for a minute, by several results in a row or by a push check."""
    measured = any(each.streak > 1 or each.kind == PushCheck.kind for each in failing)
    return measured and now - min(each.changed_at or now for each in failing) >= FOR_GOOD


def _apart(live: Sequence[Incident], failing: incident_steps.FailingChecks) -> set[str]:
    """Return the roots of open incidents that have a fault which no dependency explains."""
    return {
        each.service
        for each in live
        if each.source is IncidentSource.CHECK
        and each.service in failing
        and is_own_fault(each.service, incident_steps.evidence(failing[each.service]))
    }


async def _last_detected(
    db: Database,
    failing: incident_steps.FailingChecks,
    members: Set[str],
    services: Services,
    *,
    repairs: bool,
    now: datetime,
) -> dict[str, datetime]:
    """Return the times of the last incidents of services, except those with a fix to run.

    A service that waits for a person is included: the gate refused its known fix, and would again.
    """
    detected = await incidents.last_detected(db, failing.keys() - members)
    resting = [name for name, at in detected.items() if repairs and not is_due(at, now)]
    people = await escalations.open_for_people(db) if resting else []
    asked = {normalize_service_name(each.service) for each in people}
    short = await incidents.count_recovered(db, resting, start=now - REOPEN_AFTER)
    for name in sorted(resting, key=lambda name: detected[name])[:REPAIRED_AT_ONCE]:
        if normalize_service_name(name) in asked or short.get(name, 0) >= FLAPS - 1:
            continue
        evidence = incident_steps.evidence(failing[name])
        if await has_known_fix(db, services.find(name), evidence, now=now):
            del detected[name]
    return detected


async def _is_idle(
    db: Database,
    incident: Incident,
    failing: Mapping[str, object],
    acts: Sequence[tuple[int, CooldownUse]],
    *,
    now: datetime,
) -> bool:
    """Whether services of an incident fail and nothing works on it any more.

    True after a rest, or at once if its repair did not last.
    """
    due = is_rested(incident, now) or lasting.calls_again(incident, acts)
    if not due or not any(is_member(incident, name) for name in failing):
        return False
    return not await closing.is_worked_on(db, incident)


def _awaited(
    services: Services,
    needs: Mapping[str, Set[str]],
    checked: Sequence[CheckSeries],
    failing_series: Sequence[CheckSeries],
    inside: Set[str],
) -> dict[str, set[str]]:
    """Return the needs of each failing service that have no result from after its failure.

    Its own other checks count too: simultaneous failures are one failure, whichever was found
    first. The needs of a failing dependency are included: one incident opens, with their root. A
    service that needs a member of an incident which failed just before waits for none: it joins.
    """
    since = {name: _failing_from(name, failing_series) for name in needs}
    own = {
        name: {need for need in behind if not _was_checked(services, need, checked, since[name])}
        for name, behind in needs.items()
        if not _joins(services, name, checked, inside, since[name])
    }
    return {name: set().union(*(own.get(each, ()) for each in needs[name])) for name in own}


def _joins(
    services: Services,
    name: str,
    checked: Sequence[CheckSeries],
    inside: Set[str],
    after: datetime,
) -> bool:
    """Whether a member of an incident that a service depends on failed just before `after`."""
    service = services.find(name)
    direct = service.depends_on if service else ()
    needs = inside & {found.name for each in direct if (found := services.find(each))}
    return any(
        each.failing and each.service in needs and each.checked_at >= after - PATIENCE
        for each in checked
        if each.checked_at
    )


def _failing_from(name: str, found: Sequence[CheckSeries]) -> datetime:
    """Return since when a service is failing."""
    return min(each.changed_at for each in found if each.service == name and each.changed_at)


def _was_checked(
    services: Services, name: str, checked: Sequence[CheckSeries], after: datetime
) -> bool:
    """Whether every active check of a service has a result from after a time.

    A passing check must have started after it too: it may have sent its request before the failure.
    """
    service = services.find(name)
    checks = service.checks if service else ()
    return {each.name for each in checks if not isinstance(each, PushCheck)} <= {
        each.check for each in checked if each.service == name and _asked_at(each) >= after
    }


def _asked_at(each: CheckSeries) -> datetime:
    if each.checked_at is None:
        return EPOCH
    took = 0.0 if each.failing else each.latency_ms or 0.0
    return each.checked_at - timedelta(milliseconds=took)


def _declared(
    failing_series: Sequence[CheckSeries],
    services: Services,
    paused: Sequence[ServicePause],
    *,
    now: datetime,
) -> dict[str, list[CheckSeries]]:
    """Return the failing checks that are still declared, by service, without silenced services."""
    own = silences_of(services, paused, at=now)
    silent = with_expected_failures(services, own, failing_series, is_own=is_own_fault, at=now)
    fail = {each.service for each in failing_series}
    names = {
        service.name: {each.name for each in service.checks}
        for service in services
        if service.name in fail and service.name not in silent
    }
    failing: dict[str, list[CheckSeries]] = {}
    for each in failing_series:
        if each.check in names.get(each.service, ()) and not (
            each.silent and each.kind != PushCheck.kind
        ):
            failing.setdefault(each.service, []).append(each)
    return failing


def _passing(
    names: Set[str],
    checked: Sequence[CheckSeries],
    services: Services,
    acts: Sequence[tuple[int, CooldownUse]],
    *,
    flapped: Set[str],
) -> set[str]:
    """Return the services that have recovered; after an action, only once the recovery lasts.

    That applies while the action runs, and after one that did not last. Those in `flapped` must
    pass for longer.
    """
    acted = {
        normalize_service_name(use.service)
        for _, use in acts
        if use.outcome in closing.REPAIRS or use.outcome is UseOutcome.RESERVED or use.did_not_last
    }
    return {
        name
        for name in names
        if _is_passing(
            name,
            checked,
            services,
            acted=normalize_service_name(name) in acted,
            flapped=name in flapped,
        )
    }


def _is_passing(
    name: str,
    checked: Sequence[CheckSeries],
    services: Services,
    *,
    acted: bool,
    flapped: bool,
) -> bool:
    """Whether every declared check of a service has recovered.

    True for a removed service, False for a service whose checks never ran on a schedule.
    """
    service = services.find(name)
    names = {each.name for each in service.checks} if service else set()
    found = [each for each in checked if each.service == name and each.check in names]
    if service and not found:
        return False
    return all(has_recovered(each, acted=acted, flaps=flapped) for each in found)


async def _flapping(
    db: Database,
    last_detected: Mapping[str, datetime],
    failing: incident_steps.FailingChecks,
    *,
    now: datetime,
) -> dict[str, Flaps]:
    """Return how often flapping services have failed since the incident before their rest.

    They must be the root of that incident: other members wait for its root. A request to a person
    may be older than the end of that incident, which says that the service is healthy again.
    """
    resting = [name for name, at in last_detected.items() if not is_due(at, now)]
    if not resting:
        return {}
    rooted = await incidents.last_as_root(db, resting, start=now - REOPEN_AFTER)
    own = [name for name in resting if rooted.get(name) == last_detected[name]]
    some = sorted(own, key=lambda name: last_detected[name])[:FLAPPING_AT_ONCE]
    spans = {
        each.id: (last_detected[name], now + timedelta(seconds=1))
        for name in some
        for each in failing[name]
    }
    found = await series.all_points(db, spans)
    counts = {
        name: max(count_failures([one.state for one in found[each.id]]) for each in failing[name])
        for name in some
    }
    return {
        name: Flaps(count, last_detected[name], now)
        for name, count in counts.items()
        if count >= FLAPS
    }
