"""How much is kept for one project."""

import sqlalchemy as sa

from lamplighter.domain.session import Trigger
from lamplighter.repository.database import Database
from lamplighter.repository.tables import memories, sessions


async def by_category(db: Database, project: str) -> dict[str, int]:
    """Return how many active memories a project has of each category, most first."""
    count = sa.func.count().label("count")
    query = (
        sa.select(memories.c.category, count)
        .where(memories.c.active == 1)
        .where(memories.c.project == project)
        .group_by(memories.c.category)
        .order_by(count.desc(), memories.c.category)
    )
    return {row["category"]: row["count"] for row in await db.fetch_all(query)}


async def of_clients(db: Database, project: str) -> int:
    """Return how many sessions clients had in a project."""
    query = (
        sa.select(sa.func.count())
        .select_from(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.trigger == Trigger.CLIENT)
    )
    return int(await db.fetch_val(query))
