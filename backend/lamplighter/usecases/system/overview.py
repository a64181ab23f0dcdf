"""Overview: how everything stands, at one glance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.cooldown import Standing
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.leader import Leader
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.handoff import Escalation
from lamplighter.domain.sessions.marker_results import Look
from lamplighter.domain.sessions.session import OutcomeState, Session
from lamplighter.repository import Database
from lamplighter.repository.memory import facets
from lamplighter.repository.services import checks
from lamplighter.repository.services.checks import Day
from lamplighter.repository.sessions import approvals, escalations, sessions
from lamplighter.repository.upkeep import leases, statistics
from lamplighter.repository.upkeep.statistics import Ran, Turn
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions.statistics import DAYS, Run, first_told, run

TURNS: Final = 5
OUTCOMES: Final = 3
ACTED: Final = (
    OutcomeState.REPAIRED,
    OutcomeState.REFUSED,
    OutcomeState.DENIED,
    OutcomeState.HANDLED,
)
"""Outcomes that neither the state of the services nor the list of what needs a person shows."""

LATELY: Final = timedelta(hours=24)


class State(StrEnum):
    """How a service is, by the last look at each of its checks."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "unknown"


WORST_FIRST: Final = (State.FAILING, State.WARNING, State.OK, State.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How one service stands; `looks` are the last of each of its checks, by name."""

    service: Service
    state: State
    looks: Mapping[str, Look]
    since: datetime | None
    used: tuple[Standing, ...]
    strip: tuple[Day, ...]
    memories: int

    @property
    def checked_at(self) -> datetime | None:
        """When it was last looked at."""
        return max((look.at for look in self.looks.values() if look.at), default=None)

    @property
    def detail(self) -> str:
        """What is wrong with it, else what its last looks said."""
        looks = self.looks.values()
        failing = [f"{look.name}: {look.detail}" for look in looks if not look.ok]
        return "; ".join(failing or [look.detail for look in looks if look.detail])


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How everything stands."""

    conditions: tuple[Condition, ...]
    leader: Leader | None
    running: Session | None
    outcomes: tuple[Session, ...]
    parked: int
    queued: int
    people: tuple[Escalation, ...]
    causes: Mapping[str, int]
    turns: tuple[Turn, ...]
    levels: Mapping[Level, int]
    ran: Ran
    run: Run
    reviews: tuple[int, datetime | None]
    approvals: tuple[int, datetime | None]

    @property
    def state(self) -> State:
        """How the worst of the services is."""
        found = {each.state for each in self.conditions}
        return next((state for state in WORST_FIRST if state in found), State.UNKNOWN)


async def overview(
    db: Database,
    services: Services,
    *,
    since: datetime,
    now: datetime,
    project: str | None = None,
) -> Overview:
    """Gather the status of everything, and what was learned `since`.

    A caller bound to a `project` reads only what was learned in it, and globally.
    """
    leader = await leases.get(db)
    parked = await approvals.waiting_since(db)
    ongoing = [each for each in await sessions.running(db) if each.id not in parked]
    return Overview(
        conditions=tuple(await conditions(db, list(services), now=now)),
        leader=leader,
        running=ongoing[-1] if ongoing else None,
        outcomes=tuple(await sessions.outcomes(db, ACTED, since=now - LATELY, limit=OUTCOMES)),
        parked=len(parked),
        queued=await statistics.queued(db),
        people=tuple(await escalations.people(db)),
        causes=await statistics.causes(db, since=since, project=project),
        turns=await _turns(db, since, project),
        levels=await statistics.levels(db, since=now - LATELY),
        ran=await statistics.ran(db, since=now - LATELY),
        run=run(await statistics.days_run(db, first=first_told(now)), now=now),
        reviews=await statistics.open_reviews(db),
        approvals=await approvals.waiting(db, now=now),
    )


async def _turns(db: Database, since: datetime, project: str | None) -> tuple[Turn, ...]:
    """Return the last changes by each cause, so that many of one do not hide the others."""
    found = [
        turn
        for cause in statistics.CAUSES
        for turn in await statistics.turns(db, cause, since=since, limit=TURNS, project=project)
    ]
    return tuple(sorted(found, key=lambda turn: turn.at, reverse=True))


async def conditions(
    db: Database, services: Sequence[Service], *, now: datetime
) -> list[Condition]:
    """Return how some services stand, in their order."""
    counts = await facets.held_of(db, [each.name for each in services])
    used = await act.standings(db, [each.name for each in services], now=now)
    first = now.date() - timedelta(days=DAYS - 1)
    strips = await checks.strips(db, first=first)
    found: list[Condition] = []
    for service in services:
        recent = [await checks.latest(db, service.name, check.name) for check in service.checks]
        looks = {look.name: look for look in recent if look}
        found.append(
            Condition(
                service=service,
                state=_state(looks),
                looks=looks,
                since=await _since(db, service.name, looks),
                used=used[service.name],
                strip=_strip(strips.get(service.name, ()), first),
                memories=counts.get(service.name, 0),
            )
        )
    return found


async def _since(db: Database, service: str, looks: Mapping[str, Look]) -> datetime | None:
    """Return since when a service fails, or since when all of it is well."""
    ill = [name for name, look in looks.items() if not look.ok]
    began = [
        await checks.began(db, service, name, ok=looks[name].ok) for name in ill or list(looks)
    ]
    known = [at for at in began if at]
    return min(known, default=None) if ill else max(known, default=None)


def _state(looks: Mapping[str, Look]) -> State:
    if not looks:
        return State.UNKNOWN
    if not all(look.ok for look in looks.values()):
        return State.FAILING
    return State.WARNING if any(look.warned for look in looks.values()) else State.OK


def _strip(days: Sequence[Day], first: date) -> tuple[Day, ...]:
    held = {each.day: each for each in days}
    wanted = (first + timedelta(days=number) for number in range(DAYS))
    return tuple(held.get(day, Day(day=day)) for day in wanted)
