"""A service as a whole: status, uptime, latency, incidents, memories and the actions left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.incident import Incident
from lamplighter.domain.services.latency import LatencyPeriod
from lamplighter.domain.services.service import Service, Services
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import incidents
from lamplighter.repository.services.incidents import IncidentSelection
from lamplighter.repository.store.statements import Page
from lamplighter.usecases.services import check_history, check_trends
from lamplighter.usecases.system import overview
from lamplighter.usecases.system.overview import ServiceCondition

MAX_INCIDENTS: Final = 5
MAX_MEMORIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDetail:
    """A service as a whole; `strongest` is None for a caller that may not read memories."""

    condition: ServiceCondition
    uptime: Mapping[str, float | None]
    latency: Mapping[str, Any]
    incidents: Page[Incident]
    strongest: Sequence[Memory] | None


async def read(
    db: Database,
    service: Service,
    services: Services,
    *,
    readable: MemoryFilter | None,
    now: datetime,
) -> ServiceDetail:
    """Return a service as a whole; `readable` are the memories that the caller may read."""
    [condition] = await overview.service_conditions(db, [service], services, now=now)
    series = await check_trends.declared_series(db, service)
    newest = IncidentSelection(service=service.name)
    return ServiceDetail(
        condition=condition,
        uptime=await check_history.uptime_windows(db, series, now=now),
        latency=await check_trends.latency_of(db, service, series, LatencyPeriod.DAY, now=now),
        incidents=await incidents.page(db, newest, limit=MAX_INCIDENTS),
        strongest=None if readable is None else await _strongest(db, service.name, readable),
    )


async def _strongest(db: Database, service: str, readable: MemoryFilter) -> Sequence[Memory]:
    chosen = replace(readable, service=service, active=True)
    return (await memories.page(db, chosen, sort=Sort.CONFIDENCE, limit=MAX_MEMORIES)).items


def memory_as_json(memory: Memory) -> dict[str, Any]:
    """Return a memory of a service in brief as JSON."""
    return {
        "id": memory.id,
        "observation": memory.observation,
        "confidence": memory.confidence,
    }
