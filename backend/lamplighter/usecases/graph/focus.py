"""Focus: the services related to the services of a prompt."""

from collections.abc import Collection, Sequence
from typing import Final

from lamplighter.domain.graph.entity import EntityKind
from lamplighter.domain.memory.memory import OPERATIONS
from lamplighter.domain.memory.reach import Reach
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.graph import entities, relationships

MAX_RELATED: Final = 100


async def related_services(db: Database, services: Services, names: Sequence[str]) -> list[str]:
    """Return the declared neighbors of some services, followed by those of the knowledge graph."""
    declared = services.neighbors(names)
    own = {normalize_service_name(name) for name in (*names, *declared)}
    found = await neighbor_services(db, names)
    return [*declared, *(name for name in found if normalize_service_name(name) not in own)]


async def neighbor_services(
    db: Database, focus: Collection[str], *, limit: int = MAX_RELATED
) -> list[str]:
    """Return the names of services related to some services, the highest confidence first."""
    reach = Reach(OPERATIONS)
    found = await entities.named(db, focus, OPERATIONS, reach)
    centers = {each.id for some in found.values() for each in some if each.current}
    if not centers:
        return []
    edges = await relationships.of_entities(db, centers, reach, limit=limit)
    ends = [end for each in edges for end in (each.source_id, each.target_id)]
    held = await entities.by_ids(db, set(ends) - centers)
    services = [held[end] for end in dict.fromkeys(ends) if end in held]
    return [each.name for each in services if each.kind is EntityKind.SERVICE and each.current]
