"""Queries on what was captured: whether we hold it already, and how often it was said again."""

from datetime import datetime

import sqlalchemy as sa

from lamplighter.domain.memory import Candidate, MemoryId, Source
from lamplighter.domain.text import content_hash
from lamplighter.repository.database import Database
from lamplighter.repository.tables import KNOWLEDGE, memories


async def held(db: Database, wanted: Candidate, *, since: datetime) -> MemoryId | None:
    """Return the active memory of the same words and project since a moment.

    What rules caught is told apart by its category and scope too: each rule has its say.
    """
    caught = wanted.source is Source.CAPTURED
    query = (
        sa.select(memories.c.id)
        .where(memories.c.content_hash == content_hash(wanted.observation))
        .where(memories.c.project == wanted.project)
        .where(memories.c.category == wanted.category if caught else sa.text(KNOWLEDGE))
        .where(memories.c.scope == wanted.scope if caught else sa.true())
        .where(memories.c.active == 1)
        .where(memories.c.created_at > since)
        .order_by(memories.c.id.desc())
        .limit(1)
    )
    found = await db.fetch_val(query)
    return None if found is None else MemoryId(found)


async def count_again(db: Database, memory_id: MemoryId, *, now: datetime) -> None:
    """Count that a memory was said once more; its version and its history stay."""
    again = memories.c.duplicate_count + 1
    await db.execute(
        sa.update(memories)
        .where(memories.c.id == memory_id)
        .values(duplicate_count=again, last_seen_at=now)
    )
