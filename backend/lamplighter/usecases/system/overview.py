"""Overview: the status of everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.checks.silence import Silence
from lamplighter.domain.services.cooldown import CooldownStatus
from lamplighter.domain.services.incident import PASSES_TO_RECOVER, Incident
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.series import CheckSeries, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.handoff import Escalation
from lamplighter.domain.sessions.marker_results import CheckResult
from lamplighter.domain.sessions.session import OutcomeState, Session
from lamplighter.repository import Database
from lamplighter.repository.memory import facets, reviews
from lamplighter.repository.services import checks, incidents, pauses, series
from lamplighter.repository.services.checks import CheckDay, LatestResult
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.repository.upkeep import leases, statistics
from lamplighter.repository.upkeep.statistics import Activity
from lamplighter.usecases.services import cooldown_usage
from lamplighter.usecases.services.silence import silences_of
from lamplighter.usecases.sessions.statistics import DAYS, RunStatistics, first_day, summarize_runs

MAX_CHANGES: Final = 5
MAX_OUTCOMES: Final = 3
MAX_REPAIRED: Final = 10
ACTED: Final = (
    OutcomeState.REPAIRED,
    OutcomeState.REFUSED,
    OutcomeState.DENIED,
    OutcomeState.HANDLED,
)
"""Outcomes that neither the state of the services nor the list of what needs a person shows."""

RECENT: Final = timedelta(hours=24)


class ServiceState(StrEnum):
    """How a service is, by the last look at each of its checks."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "unknown"


WORST_FIRST: Final = (
    ServiceState.FAILING,
    ServiceState.WARNING,
    ServiceState.OK,
    ServiceState.UNKNOWN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCondition:
    """Status of one service; `latest` are the last results of each check, by name."""

    service: Service
    state: ServiceState
    latest: Mapping[str, CheckResult]
    changed_at: datetime | None
    used: tuple[CooldownStatus, ...]
    strip: tuple[CheckDay, ...]
    memories: int
    silence: Silence | None = None

    @property
    def checked_at(self) -> datetime | None:
        """When it was last looked at."""
        return max((result.at for result in self.latest.values() if result.at), default=None)

    @property
    def detail(self) -> str:
        """What is wrong with it, else what its last looks said."""
        results = self.latest.values()
        failing = [f"{result.name}: {result.detail}" for result in results if not result.ok]
        return "; ".join(failing or [result.detail for result in results if result.detail])


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOverview:
    """Status of everything."""

    conditions: tuple[ServiceCondition, ...]
    leader: Leader | None
    running: Session | None
    outcomes: tuple[Session, ...]
    parked: int
    queued: int
    people: tuple[Escalation, ...]
    activity: Activity
    run: RunStatistics
    approvals: tuple[int, datetime | None]
    pages: tuple[int, datetime | None]
    incidents: tuple[Incident, ...]
    repaired: tuple[Incident, ...]

    @property
    def state(self) -> ServiceState:
        """How the worst of the services is; one that is silent worries nobody."""
        found = {each.state for each in self.conditions if each.silence is None}
        return next((state for state in WORST_FIRST if state in found), ServiceState.UNKNOWN)


async def overview(
    db: Database,
    services: Services,
    *,
    since: datetime,
    now: datetime,
    project: str | None = None,
) -> SystemOverview:
    """Gather the status of everything, and what was learned `since`.

    A caller bound to a `project` reads only what was learned in it, and globally.
    """
    activity = await statistics.recent_activity(
        db,
        since=since,
        recent=now - RECENT,
        first=first_day(now),
        limit=MAX_CHANGES,
        project=project,
    )
    leader = await leases.get(db)
    parked = await approvals.waiting_sessions(db)
    ongoing = [each for each in await sessions.running(db) if each.id not in parked]
    return SystemOverview(
        conditions=tuple(await service_conditions(db, list(services), now=now)),
        leader=leader,
        running=ongoing[-1] if ongoing else None,
        outcomes=tuple(await sessions.outcomes(db, ACTED, since=now - RECENT, limit=MAX_OUTCOMES)),
        parked=len(parked),
        queued=await statistics.count_queued(db),
        people=tuple(await _people(db)),
        activity=activity,
        run=summarize_runs(activity.days, now=now),
        approvals=await approvals.count_open(db, now=now),
        pages=(0, None) if project is not None else await reviews.waiting_pages(db),
        incidents=tuple(await incidents.live(db)),
        repaired=tuple(await incidents.repaired(db, since=now - RECENT, limit=MAX_REPAIRED)),
    )


async def _people(db: Database) -> list[Escalation]:
    """Return what waits for a person, but for services whose scheduled checks pass again.

    Their escalations stay open until rounds find them healthy too: they hold sessions back.
    """
    found = await escalations.open_for_people(db)
    checked: dict[str, list[CheckSeries]] = {}
    for each in await series.of_services(db, [each.service for each in found]) if found else ():
        checked.setdefault(each.service, []).append(each)

    def well(service: str) -> bool:
        own = checked.get(service, [])
        return bool(own) and all(
            not each.failing and each.streak >= PASSES_TO_RECOVER for each in own
        )

    return [each for each in found if not well(each.service)]


async def service_conditions(
    db: Database, services: Sequence[Service], *, now: datetime
) -> list[ServiceCondition]:
    """Return the status of some services, in order."""
    names = [each.name for each in services]
    used = await cooldown_usage.by_service(db, names, now=now)
    first = now.date() - timedelta(days=DAYS - 1)
    wanted = [(first + timedelta(days=number)).isoformat() for number in range(DAYS)]
    every = [(service.name, check.name) for service in services for check in service.checks]
    counts, strips, latest, scheduled, paused = await db.fetch_together(
        facets.count_active(names),
        checks.days_by_service(first),
        checks.latest(every),
        series.by_key(every),
        pauses.covering_fetch(now),
    )
    silent = silences_of(services, paused, at=now)
    latest |= {
        key: _as_latest(each) for key, each in scheduled.items() if _is_newer(each, latest.get(key))
    }
    found: list[ServiceCondition] = []
    for service in services:
        name = service.name
        keys = [(name, check.name) for check in service.checks]
        own = [latest[key] for key in keys if key in latest]
        results = {each.result.name: each.result for each in own}
        found.append(
            ServiceCondition(
                service=service,
                state=_state(results),
                latest=results,
                changed_at=_state_since(own),
                used=used[name],
                strip=_strip(strips.get(name, ()), wanted),
                memories=counts.get(name, 0),
                silence=silent.get(name),
            )
        )
    return found


def _is_newer(each: CheckSeries, last: LatestResult | None) -> bool:
    """Whether the last scheduled result of a check is newer than that of a session."""
    if each.checked_at is None or last is None or last.result.at is None:
        return each.checked_at is not None
    return each.checked_at > last.result.at


def _as_latest(each: CheckSeries) -> LatestResult:
    """Return the last scheduled result of a check as that of a session."""
    result = CheckResult(
        service=each.service,
        name=each.check,
        kind=each.kind,
        ok=not each.failing,
        warned=each.state is PointState.WARNED,
        status=each.status,
        latency_ms=each.latency_ms,
        attempts=each.attempts,
        detail=each.detail,
        at=each.checked_at,
    )
    assert each.changed_at is not None
    return LatestResult(result, each.changed_at)


def _state_since(found: Sequence[LatestResult]) -> datetime | None:
    """Return since when a service fails, or since when all of it is well."""
    failing = [each.began_at for each in found if not each.result.ok]
    if failing:
        return min(failing)
    return max((each.began_at for each in found), default=None)


def _state(results: Mapping[str, CheckResult]) -> ServiceState:
    if not results:
        return ServiceState.UNKNOWN
    if not all(result.ok for result in results.values()):
        return ServiceState.FAILING
    return (
        ServiceState.WARNING
        if any(result.warned for result in results.values())
        else ServiceState.OK
    )


def _strip(found: Sequence[CheckDay], wanted: Sequence[str]) -> tuple[CheckDay, ...]:
    if len(found) == len(wanted) and found[0].day == wanted[0] and found[-1].day == wanted[-1]:
        return tuple(found)
    by_day = {each.day: each for each in found}
    return tuple(by_day.get(day) or CheckDay(day) for day in wanted)
