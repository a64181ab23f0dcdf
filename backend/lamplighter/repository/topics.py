"""Topics: which memory is the current version of a subject."""

import sqlalchemy as sa

from lamplighter.domain.memory import MemoryId
from lamplighter.repository.database import Database
from lamplighter.repository.tables import KNOWLEDGE, memories


async def holder(
    db: Database, topic_key: str, *, project: str, scope: str, without: MemoryId | None = None
) -> MemoryId | None:
    """Return the active memory that holds a topic in its project and scope: the newest of them."""
    query = (
        sa.select(memories.c.id)
        .where(sa.text(KNOWLEDGE))  # few rows have a topic, and these have an index
        .where(memories.c.topic_key == topic_key)
        .where(memories.c.project == project)
        .where(memories.c.scope == scope)
        .where(memories.c.active == 1)
        .where(memories.c.id.is_distinct_from(without))
        .order_by(memories.c.id.desc())
        .limit(1)
    )
    row = await db.fetch_one(query)
    return None if row is None else MemoryId(row["id"])
