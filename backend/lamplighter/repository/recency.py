"""What a project learned last, where nothing better is known to tell it."""

from collections.abc import Sequence

import sqlalchemy as sa

from lamplighter.domain.memory import Memory
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import memories


async def newest(
    db: Database, project: str, *, without: Sequence[int] = (), limit: int
) -> list[Memory]:
    """Return the active memories of a project, and the global ones of all, newest first."""
    query = (
        sa.select(memories)
        .where(memories.c.active == 1)
        .where((memories.c.project == project) | (memories.c.scope == "global"))
        .where(memories.c.id.not_in(list(without)))
        .order_by(memories.c.updated_at.desc(), memories.c.id.desc())
    )
    return [from_row(row) for row in await fetched(db, query, limit)]
