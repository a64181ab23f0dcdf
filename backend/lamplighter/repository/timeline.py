"""What was kept just before a memory of knowledge, and just after it."""

from typing import Any

import sqlalchemy as sa

from lamplighter.domain.knowledge import Timeline
from lamplighter.domain.memory import Memory
from lamplighter.repository.database import Database
from lamplighter.repository.memories import from_row
from lamplighter.repository.readable import fetched
from lamplighter.repository.tables import KNOWLEDGE, memories


async def around(db: Database, focus: Memory, *, before: int, after: int) -> Timeline:
    """Return the active knowledge around a memory: of its session, else of its project.

    By number, which is the order in which it was kept, whatever a clock said meanwhile.
    """
    number = memories.c.id
    earlier = await _near(db, focus, number < focus.id, number.desc(), before)
    later = await _near(db, focus, number > focus.id, number.asc(), after)
    return Timeline(tuple(reversed(earlier)), focus, tuple(later))


async def _near(
    db: Database, focus: Memory, side: sa.ColumnElement[bool], order: Any, limit: int
) -> list[Memory]:
    if limit < 1:
        return []
    of_session = memories.c.session_id == focus.session_id
    query = (
        sa.select(memories)
        .where(sa.text(KNOWLEDGE))
        .where(memories.c.active == 1)
        .where(side)
        .where(memories.c.project == focus.project if focus.session_id is None else of_session)
        .order_by(order)
    )
    return [from_row(row) for row in await fetched(db, query, limit)]
