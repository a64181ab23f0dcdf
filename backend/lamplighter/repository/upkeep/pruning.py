"""Removing rows of a certain age, in short writes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.notice import NoticeState
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.tables import codes, events, logins, notices, tokens
from lamplighter.repository.upkeep.batches import in_batches

_ENDED: Final = (NoticeState.SENT, NoticeState.FAILED, NoticeState.SUPPRESSED)
_RECORDS: Final = (
    (notices, notices.c.created_at, notices.c.state.in_(_ENDED)),
    (codes, codes.c.expires_at, sa.true()),
    (logins, logins.c.expires_at, sa.true()),
    (tokens, tokens.c.revoked_at, tokens.c.session_id.is_not(None)),
)


async def prune_events(db: Database, *, before: datetime) -> int:
    """Remove events from before a moment, oldest first; return how many."""
    named = sa.exists().where(notices.c.event_id == events.c.id)
    return await _remove(db, events, events.c.created_at < before, ~named)


async def prune_records(db: Database, *, before: datetime) -> int:
    """Remove notifications, codes, logins and tokens of sessions that ended before a moment."""
    return sum([await _remove(db, table, at < before, more) for table, at, more in _RECORDS])


async def _remove(db: Database, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    rows = await db.fetch_all(sa.select(table.c.id).where(*where).order_by(table.c.id))

    async def remove(ids: Sequence[int]) -> list[Any]:
        await db.execute(sa.delete(table).where(table.c.id.in_(ids)))
        return [*ids]

    return len(await in_batches(db, [row["id"] for row in rows], remove))
