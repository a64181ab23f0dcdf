"""Figures of the database itself, for the Health page."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import changes, requests

_SQLITE_SIZE: Final = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_POSTGRES_SIZE: Final = "SELECT pg_database_size(current_database())"


async def size(db: Database) -> int:
    """Return the size of the database in bytes."""
    return int(await db.fetch_val(_POSTGRES_SIZE if db.notifies else _SQLITE_SIZE))


async def server_version(db: Database) -> str:
    """Return the version of a PostgreSQL server."""
    return str(await db.fetch_val("SHOW server_version"))


async def last_change_at(db: Database) -> datetime | None:
    """Return when the last change was written."""
    query = sa.select(changes.c.at).order_by(changes.c.seq.desc()).limit(1)
    found: datetime | None = await db.fetch_val(query)
    return found


async def queue_length(db: Database) -> tuple[int, datetime | None]:
    """Return the number of queued requests, and since when the oldest has been waiting."""
    query = sa.select(
        sa.func.count().label("count"), sa.func.min(requests.c.created_at).label("oldest")
    ).where(requests.c.state == RequestState.QUEUED)
    row = await db.fetch_one(query)
    assert row is not None
    return int(row["count"]), row["oldest"]
