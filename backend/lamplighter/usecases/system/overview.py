"""Overview: the status of everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.actions.halt import Halt
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.services.checks.silence import (
    Silence,
    silences_of,
    with_expected_failures,
)
from lamplighter.domain.services.cooldown import CooldownStatus, statuses_of
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.series import CheckSeries, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.cost import DAY, Charge
from lamplighter.domain.sessions.handoff import Escalation
from lamplighter.domain.sessions.session import CheckResult, OutcomeState, Session
from lamplighter.repository import Database
from lamplighter.repository.memory import facets, reviews
from lamplighter.repository.services import checks, cooldowns, incidents, pauses, series
from lamplighter.repository.services.checks import CheckDay, LatestResult
from lamplighter.repository.sessions import approvals, escalations, halts, sessions
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import home_of
from lamplighter.repository.store.statements import Fetch
from lamplighter.repository.upkeep import leases, statistics
from lamplighter.repository.upkeep.statistics import Activity
from lamplighter.usecases.sessions.statistics import (
    DAYS,
    RunStatistics,
    first_day,
    last_days,
    summarize_runs,
)

MAX_CHANGES: Final = 5
MAX_OUTCOMES: Final = 3
MAX_REPAIRED: Final = 10
MAX_INCIDENTS: Final = 5
ACTED: Final = (
    OutcomeState.REPAIRED,
    OutcomeState.REFUSED,
    OutcomeState.DENIED,
    OutcomeState.HANDLED,
)
"""Outcomes that appear neither in the state of the services nor in the list for people."""

RECENT: Final = timedelta(hours=24)


class ServiceState(StrEnum):
    """The state of a service, by the last result of each of its checks."""

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
        """The time of the last check result."""
        return max((result.at for result in self.latest.values() if result.at), default=None)

    @property
    def detail(self) -> str:
        """The details of its failing checks, else those of its last results."""
        results = self.latest.values()
        failing = [f"{result.name}: {result.detail}" for result in results if not result.ok]
        return "; ".join(failing or [result.detail for result in results if result.detail])


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOverview:
    """Status of everything; `incidents` are the most urgent of the open ones.

    `seq` is the number of the newest change, `charges` are those of the last 24 hours. `halt` is
    the one in the database: the file in the home halts too.
    """

    seq: int
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
    open_incidents: Mapping[Level, int]
    repaired: tuple[Incident, ...]
    halt: Halt | None
    charges: tuple[Charge, ...]

    @property
    def state(self) -> ServiceState:
        """The worst state of the services; silenced ones are left out."""
        found = {each.state for each in self.conditions if each.silence is None}
        return next((state for state in WORST_FIRST if state in found), ServiceState.UNKNOWN)


async def overview(
    db: Database,
    services: Services,
    *,
    start: datetime,
    now: datetime,
    project: str | None = None,
    strip: int = DAYS,
) -> SystemOverview:
    """Return the status of everything, and recent learning since `start`.

    A caller bound to a `project` reads only learning in this project, and global learning.
    Sessions, their escalations and incidents belong to the operational project. `strip` is the
    number of days in the strip of each service.
    """
    some, days = list(services), last_days(now)[DAYS - strip :]
    fetches = _system_fetches(home_of(db), start, now, project)
    every = *fetches.values(), *_condition_fetches(some, services, days, now)
    fetched = await db.fetch_together(*every)
    system = dict(zip(fetches, fetched, strict=False))
    ongoing = [each for each in system["running"] if each.id not in system["parked"]]
    readable = project is None or project == OPERATIONS
    activity = await statistics.with_changes(db, system["activity"])
    urgent, open_incidents = system["incidents"] if readable else ((), {})
    return SystemOverview(
        seq=system["seq"],
        conditions=tuple(_conditions(some, services, fetched[len(fetches) :], days, now)),
        leader=system["leader"],
        running=ongoing[-1] if ongoing and readable else None,
        outcomes=tuple(system["outcomes"]) if readable else (),
        parked=len(system["parked"]),
        queued=system["queued"],
        people=tuple(await _still_failing(db, system["people"])) if readable else (),
        activity=activity,
        run=summarize_runs(activity.days, now=now),
        approvals=system["approvals"],
        pages=(0, None) if project is not None else system["pages"],
        incidents=tuple(urgent),
        open_incidents=open_incidents,
        repaired=tuple(system["repaired"]) if readable else (),
        halt=system["halt"],
        charges=tuple(system["charges"]),
    )


def _system_fetches(
    home: str, start: datetime, now: datetime, project: str | None
) -> dict[str, Fetch[Any]]:
    recent, first = now - RECENT, first_day(now)
    return {
        "seq": changes.last_seq_fetch(),
        "activity": statistics.activity_fetch(
            start=start, recent=recent, first=first, limit=MAX_CHANGES, project=project
        ),
        "leader": leases.leader_fetch(),
        "parked": approvals.waiting_fetch(),
        "running": sessions.running_fetch(),
        "outcomes": sessions.outcomes(ACTED, since=recent, limit=MAX_OUTCOMES),
        "queued": statistics.queued_fetch(),
        "people": escalations.people_fetch(),
        "approvals": approvals.count_open(now),
        "incidents": incidents.urgent_fetch(limit=MAX_INCIDENTS),
        "repaired": incidents.repaired(since=recent, limit=MAX_REPAIRED),
        "pages": reviews.waiting_pages_fetch(home),
        "halt": halts.active_fetch(),
        "charges": sessions.charges_fetch(now - DAY),
    }


async def _still_failing(db: Database, requests: Sequence[Escalation]) -> list[Escalation]:
    """Leave out services whose scheduled checks pass again.

    Their escalations stay open until rounds find them healthy too: they suppress sessions.
    """
    well = await series.recovered(db, [each.service for each in requests]) if requests else set()
    return [each for each in requests if each.service not in well]


async def service_conditions(
    db: Database, some: Sequence[Service], services: Services, *, now: datetime, strip: int = DAYS
) -> list[ServiceCondition]:
    """Return the status of some of the declared services, in order, with `strip` days."""
    days = last_days(now)[DAYS - strip :]
    fetched = await db.fetch_together(*_condition_fetches(some, services, days, now))
    return _conditions(some, services, fetched, days, now)


def _condition_fetches(
    some: Sequence[Service], services: Services, days: Sequence[date], now: datetime
) -> list[Fetch[Any]]:
    names = [each.name for each in some]
    return [
        facets.count_active(names),
        checks.days_by_service(
            names if days else [], first=min(days, default=now.date()), last=now.date()
        ),
        checks.latest([(each.name, check.name) for each in some for check in each.checks]),
        series.by_key([each.name for each in services.with_needs(some)]),
        pauses.covering_fetch(now),
        cooldowns.spent_fetch(now),
    ]


def _conditions(
    some: Sequence[Service],
    services: Services,
    fetched: Sequence[Any],
    days: Sequence[date],
    now: datetime,
) -> list[ServiceCondition]:
    """Build the status of some services from the results of `_condition_fetches`."""
    counts, strips, latest, scheduled, paused, uses = fetched
    used = statuses_of([each.name for each in some], uses, now=now)
    unchecked = {day: CheckDay(day) for day in map(date.isoformat, days)}
    silenced = silences_of(services.with_needs(some), paused, at=now)
    failing = [each for each in scheduled.values() if each.failing]
    silent = with_expected_failures(services, silenced, failing, is_own=_is_own_fault, at=now)
    latest |= {
        key: _as_latest(each) for key, each in scheduled.items() if _is_newer(each, latest.get(key))
    }
    conditions: list[ServiceCondition] = []
    for service in some:
        name = service.name
        keys = [(name, check.name) for check in service.checks]
        own = [latest[key] for key in keys if key in latest]
        results = {each.result.name: each.result for each in own}
        conditions.append(
            ServiceCondition(
                service=service,
                state=_state(results),
                latest=results,
                changed_at=_state_since(own),
                used=used[name],
                strip=tuple(
                    (unchecked | {each.day: each for each in strips.get(name, ())}).values()
                ),
                memories=counts[name],
                silence=silent.get(name),
            )
        )
    return conditions


def _is_own_fault(service: str, detail: str) -> bool:
    from lamplighter.domain.learning.signature import is_own_fault  # late import: rarely needed

    return is_own_fault(service, detail)


def _is_newer(each: CheckSeries, last: LatestResult | None) -> bool:
    """Whether the last scheduled result of a check is newer than that of a session."""
    if each.checked_at is None or last is None or last.result.at is None:
        return each.checked_at is not None
    return each.checked_at > last.result.at


def _as_latest(each: CheckSeries) -> LatestResult:
    """Return the last scheduled result of a check, in the form of a session's result."""
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
    """Return since when a service is failing, or since when all of its checks are healthy."""
    failing = [each.began_at for each in found if not each.result.ok]
    return min(failing) if failing else max((each.began_at for each in found), default=None)


def _state(results: Mapping[str, CheckResult]) -> ServiceState:
    if not results:
        return ServiceState.UNKNOWN
    if not all(result.ok for result in results.values()):
        return ServiceState.FAILING
    warned = any(result.warned for result in results.values())
    return ServiceState.WARNING if warned else ServiceState.OK
