"""Memories by ID."""

from datetime import datetime

from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Memory
from lamplighter.repository import Database
from lamplighter.repository.memory import memories


async def get(db: Database, memory_id: int, *, at: datetime | None = None) -> Memory:
    """Return a memory, now or as of `at`; raises NotFound."""
    memory = await memories.get(db, memory_id, at=at)
    if memory is None:
        from lamplighter.repository.memory import trash  # slow import: it can also restore

        if at is None and await trash.get(db, memory_id) is not None:
            raise NotFound(f"Memory {memory_id} is in the trash. Restore it first.")
        then = "" if at is None else " at that time"
        raise NotFound(f"Memory {memory_id} not found{then}.")
    return memory
