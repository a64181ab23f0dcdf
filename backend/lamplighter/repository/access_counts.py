"""How often memories are read: counted beside them, and never a change of theirs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.repository.database import Database, writing
from lamplighter.repository.tables import memories

AT_ONCE: Final = 500


async def count(db: Database, ids: Iterable[int], now: datetime) -> None:
    """Count that each of these memories was read once, now.

    No version, no history, no change of the feed: a screen hears of it when it reads anew.
    """
    known = sorted(set(ids))
    if not known:
        return
    async with writing(db):
        for at in range(0, len(known), AT_ONCE):
            statement = (
                sa.update(memories)
                .where(memories.c.id.in_(known[at : at + AT_ONCE]))
                .values(access_count=memories.c.access_count + 1, accessed_at=now)
            )
            await db.execute(statement)
