"""Overview: the status of everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.cooldown import CooldownStatus
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.handoff import Escalation
from lamplighter.domain.sessions.marker_results import CheckResult
from lamplighter.domain.sessions.session import OutcomeState, Session
from lamplighter.repository import Database
from lamplighter.repository.memory import facets
from lamplighter.repository.services import checks
from lamplighter.repository.services.checks import CheckDay, CheckKey
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.repository.upkeep import leases, statistics
from lamplighter.repository.upkeep.statistics import ConfidenceChange, RunTotals
from lamplighter.usecases.services import cooldown_usage
from lamplighter.usecases.sessions.statistics import DAYS, RunStatistics, first_day, summarize_runs

MAX_CHANGES: Final = 5
MAX_OUTCOMES: Final = 3
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
    causes: Mapping[str, int]
    turns: tuple[ConfidenceChange, ...]
    levels: Mapping[Level, int]
    ran: RunTotals
    run: RunStatistics
    reviews: tuple[int, datetime | None]
    approvals: tuple[int, datetime | None]

    @property
    def state(self) -> ServiceState:
        """How the worst of the services is."""
        found = {each.state for each in self.conditions}
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
        people=tuple(await escalations.open_for_people(db)),
        causes=await statistics.count_by_cause(db, since=since, project=project),
        turns=tuple(
            await statistics.recent_changes(db, since=since, limit=MAX_CHANGES, project=project)
        ),
        levels=await statistics.count_by_level(db, since=now - RECENT),
        ran=await statistics.count_runs(db, since=now - RECENT),
        run=summarize_runs(await statistics.runs_by_day(db, first=first_day(now)), now=now),
        reviews=await statistics.open_reviews(db),
        approvals=await approvals.count_open(db, now=now),
    )


async def service_conditions(
    db: Database, services: Sequence[Service], *, now: datetime
) -> list[ServiceCondition]:
    """Return the status of some services, in order."""
    counts = await facets.count_active(db, [each.name for each in services])
    used = await cooldown_usage.by_service(db, [each.name for each in services], now=now)
    first = now.date() - timedelta(days=DAYS - 1)
    strips = await checks.days_by_service(db, first=first)
    latest = await checks.latest(
        db, [(service.name, check.name) for service in services for check in service.checks]
    )
    began = await checks.states_began_at(db, {key: result.ok for key, result in latest.items()})
    found: list[ServiceCondition] = []
    for service in services:
        name = service.name
        own = {key: result for key, result in latest.items() if key[0] == name}
        results = {result.name: result for result in own.values()}
        found.append(
            ServiceCondition(
                service=service,
                state=_state(results),
                latest=results,
                changed_at=_state_since(own, began),
                used=used[name],
                strip=_strip(strips.get(name, ()), first),
                memories=counts.get(name, 0),
            )
        )
    return found


def _state_since(
    results: Mapping[CheckKey, CheckResult], began: Mapping[CheckKey, datetime]
) -> datetime | None:
    """Return since when a service fails, or since when all of it is well."""
    ill = [key for key, result in results.items() if not result.ok]
    known = [began[key] for key in ill or results if key in began]
    return min(known, default=None) if ill else max(known, default=None)


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


def _strip(days: Sequence[CheckDay], first: date) -> tuple[CheckDay, ...]:
    held = {each.day: each for each in days}
    wanted = (first + timedelta(days=number) for number in range(DAYS))
    return tuple(held.get(day, CheckDay(day=day)) for day in wanted)
