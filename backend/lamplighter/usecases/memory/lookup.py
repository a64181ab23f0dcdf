"""Lookups of what a person names: a memory by its number, a service in any spelling."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.service import GENERAL, normalize_service_name
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import event_names


async def get(db: Database, memory_id: int, *, at: datetime | None = None) -> Memory:
    """Return a memory, now or as of `at`; raises NotFound."""
    memory = await memories.get(db, memory_id, at=at)
    if memory is None:
        from lamplighter.repository.memory import trash  # it can restore, which takes a lot

        if at is None and await trash.get(db, memory_id) is not None:
            raise NotFound(f"Memory {memory_id} is in the trash. Restore it first.")
        then = "" if at is None else " at that time"
        raise NotFound(f"Memory {memory_id} not found{then}.")
    return memory


async def spelled(db: Database, service: str | None, services: Sequence[str]) -> str | None:
    """Return a service's name as services.yaml spells it, else as it was first written."""
    if service is None or normalize_service_name(service) == GENERAL:
        return None
    declared = next(
        (
            name
            for name in services
            if normalize_service_name(name) == normalize_service_name(service)
        ),
        None,
    )
    if declared:
        return declared
    written = await memories.spelling(db, service) or await event_names.spelling(db, service)
    return written or service
