"""Relations between memories."""

from datetime import datetime

import sqlalchemy as sa

from lamplighter.domain.memory.memory import MemoryId
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import links

REVIVES = "revives"
CONTRADICTS = "contradicts"


async def insert(
    db: Database,
    memory: MemoryId,
    target: MemoryId,
    what: str,
    *,
    session_id: int | None,
    now: datetime,
    act_id: int | None = None,
) -> None:
    """Link a memory to another one; `act_id` is the operator's act that it is part of."""
    statement = sa.insert(links).values(
        memory_id=memory,
        target_id=target,
        what=what,
        session_id=session_id,
        created_at=now,
        act_id=act_id,
    )
    await db.execute(statement)


async def of_memory(db: Database, memory: MemoryId) -> list[tuple[MemoryId, str]]:
    """Return what a memory is linked to, in the order it came about."""
    query = sa.select(links).where(links.c.memory_id == memory).order_by(links.c.id)
    return [(MemoryId(row["target_id"]), row["what"]) for row in await db.fetch_all(query)]
