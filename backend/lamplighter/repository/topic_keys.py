"""Topic keys: which memory is the current version of what a key names."""

from typing import Final

import sqlalchemy as sa

from lamplighter.domain.memory import MemoryId
from lamplighter.repository.columns import NUMBER
from lamplighter.repository.database import Database
from lamplighter.repository.prepared import Statement
from lamplighter.repository.tables import KNOWLEDGE, memories

_HOLDER: Final = Statement(
    sa.select(memories.c.id)
    .where(sa.text(KNOWLEDGE))  # few rows have a key, and these have an index
    .where(memories.c.topic_key == sa.bindparam("topic_key"))
    .where(memories.c.project == sa.bindparam("project"))
    .where(memories.c.scope == sa.bindparam("scope"))
    .where(memories.c.active == 1)
    .where(memories.c.id != sa.bindparam("other_than", type_=NUMBER))
    .order_by(memories.c.id.desc())
    .limit(1)
)


async def holder(
    db: Database, topic_key: str, *, project: str, scope: str, without: MemoryId | None = None
) -> MemoryId | None:
    """Return the active memory that holds a key in its project and scope: the newest of them."""
    place = {"topic_key": topic_key, "project": project, "scope": scope}
    row = await db.fetch_one(_HOLDER(**place, other_than=without or 0))
    return None if row is None else MemoryId(row["id"])
