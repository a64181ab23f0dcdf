"""Sessions of engines that can write files, by the time they ran."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import sessions

PROBE: Final = "probe"
"""The built-in engine runs no program and writes no file."""


async def session_at(db: Database, at: datetime | None) -> int | None:
    """Return a supervised session that ran at `at`, or that runs now if `at` is None."""
    query = sa.select(sessions.c.id).where(sessions.c.tier > 0).where(sessions.c.engine != PROBE)
    if at is None:
        query = query.where(sessions.c.ended_at.is_(None))
    else:
        query = query.where(sessions.c.started_at <= at)
        query = query.where(sa.or_(sessions.c.ended_at.is_(None), sessions.c.ended_at >= at))
    row = await db.fetch_one(query.order_by(sessions.c.id.desc()).limit(1))
    return None if row is None else int(row["id"])
