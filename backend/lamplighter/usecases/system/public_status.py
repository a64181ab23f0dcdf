"""The public status: selected services by display names, their uptime, and their incidents."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.limits import UPTIME_DAYS
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.repository import Database, reading
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.services.check_history import read_uptime
from lamplighter.usecases.system.overview import ServiceCondition, ServiceState, service_conditions

RECENT: Final = timedelta(days=14)
MAX_INCIDENTS: Final = 200


class PublicState(StrEnum):
    """The state of a service, in words for its users."""

    OPERATIONAL = "Operational"
    DEGRADED = "Degraded"
    DOWN = "Down"
    MAINTENANCE = "Maintenance"
    UNKNOWN = "Unknown"


_STATES: Final = {
    ServiceState.OK: PublicState.OPERATIONAL,
    ServiceState.WARNING: PublicState.DEGRADED,
    ServiceState.FAILING: PublicState.DOWN,
    ServiceState.UNKNOWN: PublicState.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class PublicService:
    """A service by its display name; `uptime` is in percent by window."""

    name: str
    state: PublicState
    uptime: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class PublicIncident:
    """The time in which services were affected, without the reason."""

    names: tuple[str, ...]
    started_at: datetime
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class PublicStatus:
    """The content of the status page, as of one time."""

    at: datetime
    services: tuple[PublicService, ...]
    incidents: tuple[PublicIncident, ...]


async def read_public_status(
    db: Database, services: Services, display_names: Mapping[str, str], *, now: datetime
) -> PublicStatus:
    """Return the status of selected services by their display names; others are not included.

    While no supervisor runs checks, the state of each is unknown.
    """
    names = {normalize_service_name(name): display for name, display in display_names.items()}
    selected = [service for name in names if (service := services.find(name)) is not None]
    async with reading(db):
        conditions = await service_conditions(db, selected, services, now=now)
        uptimes = [await read_uptime(db, each, now=now) for each in selected]
        chosen = IncidentSelection(detected_after=now - RECENT)
        page = await incidents.page(db, chosen, limit=MAX_INCIDENTS)
        live = await incidents.live(db)
        leader = await leases.get(db)
    checked = leader is not None and leader.state(now=now) != "away"
    listed = {each.id: each for each in [*live, *page.items] if each.merged_into is None}
    known = {each.name for each in selected}
    affected = (_incident(each, names, known) for each in listed.values())
    return PublicStatus(
        at=now,
        services=tuple(
            PublicService(
                name=names[normalize_service_name(each.service.name)],
                state=_state(each) if checked else PublicState.UNKNOWN,
                uptime={window: uptime[window] for window in UPTIME_DAYS},
            )
            for each, uptime in zip(conditions, uptimes, strict=True)
        ),
        incidents=tuple(
            sorted(
                (each for each in affected if each.names),
                key=lambda each: each.started_at,
                reverse=True,
            )
        ),
    )


def _state(each: ServiceCondition) -> PublicState:
    return PublicState.MAINTENANCE if each.silence is not None else _STATES[each.state]


def _incident(each: Incident, names: Mapping[str, str], known: set[str]) -> PublicIncident:
    shown = (names[normalize_service_name(name)] for name in each.services if name in known)
    return PublicIncident(tuple(shown), each.started_at, each.resolved_at)
