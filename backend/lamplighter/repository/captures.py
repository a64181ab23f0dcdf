"""Queries on what was captured: whether we hold it already, and how often it was said again."""

from dataclasses import replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory import Candidate, Memory, Source
from lamplighter.domain.text import content_hash
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import is_readable
from lamplighter.repository.tables import KNOWLEDGE, memories

AT_MOST: Final = 20
"""How many of one hash are looked at: they are as good as always of the same words."""


async def held(db: Database, wanted: Candidate, *, since: datetime) -> Memory | None:
    """Return the newest active memory of the same words and project since a moment.

    What rules caught is told apart by its category and scope too: each rule has its say.
    """
    caught, words = wanted.source is Source.CAPTURED, content_hash(wanted.observation)
    query = (
        sa.select(memories)
        .where(memories.c.content_hash == words)
        .where(memories.c.project == wanted.project)
        .where(memories.c.category == wanted.category if caught else sa.text(KNOWLEDGE))
        .where(memories.c.scope == wanted.scope if caught else sa.true())
        .where(memories.c.active == 1)
        .where(memories.c.created_at > since)
        .order_by(memories.c.id.desc())
        .limit(AT_MOST)
    )
    found = [from_row(row) for row in await db.fetch_all(query) if is_readable(dict(row))]
    # one that was written by hand may hold other words than its hash is of
    return next((each for each in found if content_hash(each.observation) == words), None)


async def count_again(db: Database, memory: Memory, *, now: datetime) -> Memory:
    """Count that a memory was said once more; its version and its history stay."""
    again = memories.c.duplicate_count + 1
    await db.execute(
        sa.update(memories)
        .where(memories.c.id == memory.id)
        .values(duplicate_count=again, last_seen_at=now)
    )
    return replace(memory, duplicate_count=memory.duplicate_count + 1, last_seen_at=now)
