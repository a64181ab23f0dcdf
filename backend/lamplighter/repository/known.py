"""How much agents know: counts over memories of knowledge and the sessions of clients."""

from typing import Any

import sqlalchemy as sa

from lamplighter.domain.knowledge import Stats
from lamplighter.domain.session import Trigger
from lamplighter.repository.database import Database, reading
from lamplighter.repository.recency import TOLD
from lamplighter.repository.tables import memories, sessions


async def stats(db: Database) -> Stats:
    """Count active knowledge by category and project, and the sessions of clients."""
    async with reading(db):
        by_category = await _by(db, memories.c.category, memories, sa.text(TOLD))
        by_project = await _by(db, memories.c.project, memories, sa.text(TOLD))
        of_clients = sessions.c.trigger == Trigger.CLIENT
        opened = await _by(db, sessions.c.project, sessions, of_clients)
    return Stats(
        sessions=sum(opened.values()),
        observations=sum(by_project.values()),
        by_category=by_category,
        by_project=by_project,
        projects=tuple(sorted({*by_project, *opened})),
    )


async def _by(db: Database, column: sa.Column[str], table: sa.Table, where: Any) -> dict[str, int]:
    count = sa.func.count().label("count")
    query = sa.select(column, count).select_from(table).where(where)
    rows = await db.fetch_all(query.group_by(column).order_by(count.desc(), column))
    return {row[column.name]: row["count"] for row in rows}
