"""Queries on the memories that mention some words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory import ACTIVE_THRESHOLD, Category, Memory, MemoryId
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import is_readable
from lamplighter.repository.tables import memories

SERVICE_WEIGHT: Final = 2
SPARE: Final = 5
"""A row that cannot be read leaves room for the next one."""


async def best(db: Database, words: Sequence[str], *, limit: int) -> list[Memory]:
    """Return the memories that may be told and mention most of some words, the best first."""
    if not words:
        return []
    mentions = [_mentions(word) for word in words]
    weight: sa.ColumnElement[int] = sa.literal(0)
    for word, mention in zip(words, mentions, strict=True):
        weight = weight + sa.case((mention, 1), else_=0)
        weight = weight + sa.case((_is_service(word), SERVICE_WEIGHT), else_=0)
    query = (
        sa.select(memories)
        .where(memories.c.active == 1)
        .where(memories.c.confidence >= ACTIVE_THRESHOLD)
        .where(sa.or_(*mentions, *map(_is_service, words)))
        .order_by(weight.desc(), memories.c.confidence.desc(), memories.c.id)
        .limit(limit + SPARE)
    )
    rows = [dict(row) for row in await db.fetch_all(query)]
    return [from_row(row) for row in rows if is_readable(row)][:limit]


async def captured(
    db: Database, content: str, category: Category, project: str, *, since: datetime
) -> MemoryId | None:
    """Return the newest knowledge of a project with this hash and category since a moment."""
    query = (
        sa.select(memories.c.id)
        .where(memories.c.content_hash == content)
        .where(memories.c.project == project)
        .where(memories.c.category == category)
        .where(memories.c.active == 1)
        .where(memories.c.created_at > since)
        .order_by(memories.c.id.desc())
        .limit(1)
    )
    found = await db.fetch_val(query)
    return None if found is None else MemoryId(found)


async def count_again(db: Database, memory_id: MemoryId) -> None:
    """Count that a memory was said once more; its version and its history stay."""
    again = memories.c.duplicate_count + 1
    await db.execute(
        sa.update(memories).where(memories.c.id == memory_id).values(duplicate_count=again)
    )


def _mentions(word: str) -> sa.ColumnElement[bool]:
    return sa.or_(
        memories.c.observation.icontains(word, autoescape=True),
        memories.c.title.icontains(word, autoescape=True),
    )


def _is_service(word: str) -> sa.ColumnElement[bool]:
    return sa.func.lower(memories.c.service) == word
