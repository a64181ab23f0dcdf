"""Figures of the database itself, and counts over many rows, for the page of health."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory.memory import Trust
from lamplighter.domain.services.vitals import MemoryCounts
from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import changes, exposures, memories, requests

_SQLITE_SIZE: Final = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_POSTGRES_SIZE: Final = "SELECT pg_database_size(current_database())"


async def size(db: Database) -> int:
    """Return how many bytes the database takes."""
    return int(await db.fetch_val(_POSTGRES_SIZE if db.notifies else _SQLITE_SIZE))


async def server_version(db: Database) -> str:
    """Return the version of a PostgreSQL server."""
    return str(await db.fetch_val("SHOW server_version"))


async def revision(db: Database) -> str | None:
    """Return the revision that the database is at."""
    found: str | None = await db.fetch_val("SELECT version_num FROM alembic_version")
    return found


async def last_change_at(db: Database) -> datetime | None:
    """Return when the last change was written."""
    query = sa.select(changes.c.at).order_by(changes.c.seq.desc()).limit(1)
    found: datetime | None = await db.fetch_val(query)
    return found


async def queue_length(db: Database) -> tuple[int, datetime | None]:
    """Return how many requests wait, and since when the oldest does."""
    query = sa.select(
        sa.func.count().label("count"), sa.func.min(requests.c.created_at).label("oldest")
    ).where(requests.c.state == RequestState.QUEUED)
    row = await db.fetch_one(query)
    assert row is not None
    return int(row["count"]), row["oldest"]


async def count_memories(db: Database, *, stale_before: datetime) -> MemoryCounts:
    """Count the active memories, and those of them that want a second look; reads all of them."""
    return MemoryCounts(
        active=await _count(db),
        unverified=await _count(db, memories.c.trust == Trust.UNVERIFIED),
        stale=await _count(
            db,
            memories.c.updated_at < stale_before,
            ~sa.exists()
            .where(exposures.c.memory_id == memories.c.id)
            .where(exposures.c.position.is_not(None)),
        ),
        repeated=await _count_duplicates(db),
    )


async def _count(db: Database, *conditions: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(memories).where(memories.c.active == 1)
    return int(await db.fetch_val(query.where(*conditions)))


async def _count_duplicates(db: Database) -> int:
    """Return how many memories say what another of their service and category says already."""
    groups = (
        sa.select((sa.func.count() - 1).label("more"))
        .where(memories.c.active == 1)
        .group_by(memories.c.content_hash, memories.c.service, memories.c.category)
        .having(sa.func.count() > 1)
        .subquery()
    )
    return int(await db.fetch_val(sa.select(sa.func.coalesce(sa.func.sum(groups.c.more), 0))))
