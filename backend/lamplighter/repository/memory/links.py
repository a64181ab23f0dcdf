"""Relations between memories."""

from dataclasses import asdict
from datetime import datetime

import sqlalchemy as sa

from lamplighter.domain.memory.intents import MemoryLink
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import links


async def insert(db: Database, link: MemoryLink, *, now: datetime) -> None:
    """Link a memory to another memory."""
    await db.execute(sa.insert(links).values(**asdict(link), created_at=now))


async def of_memory(db: Database, memory: MemoryId) -> list[tuple[MemoryId, str]]:
    """Return the links of a memory, in the order of their creation."""
    query = sa.select(links).where(links.c.memory_id == memory).order_by(links.c.id)
    return [(MemoryId(row["target_id"]), row["what"]) for row in await db.fetch_all(query)]
