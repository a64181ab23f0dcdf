"""Removing rows of a certain age, in short writes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.services.notice import NoticeState
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import UTCDateTime
from lamplighter.repository.store.session_tables import alerts, event_groups
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import codes, events, logins, notices, tokens
from lamplighter.repository.upkeep.batches import in_batches

_IN_GROUP: Final = (
    (events.c.text == event_groups.c.text)
    & (events.c.level == event_groups.c.level)
    & (sa.func.coalesce(events.c.service, "") == sa.func.coalesce(event_groups.c.service, ""))
)
_BEGIN_GROUP: Final = Statement(
    sa.update(event_groups)
    .where(event_groups.c.id == sa.bindparam("group"))
    .values(first_id=sa.bindparam("new_id"), first_at=sa.bindparam("new_at", type_=UTCDateTime()))
)
_ENDED: Final = (NoticeState.SENT, NoticeState.FAILED, NoticeState.SUPPRESSED)
_RECORDS: Final = (
    (notices, notices.c.created_at, notices.c.state.in_(_ENDED)),
    (alerts, alerts.c.resolved_at, sa.true()),
    (codes, codes.c.expires_at, sa.true()),
    (logins, logins.c.expires_at, sa.true()),
    (tokens, tokens.c.revoked_at, tokens.c.session_id.is_not(None)),
)


async def prune_events(db: Database, *, before: datetime) -> int:
    """Remove events from before a moment, oldest first; return how many.

    Their groups then begin with the first event that is left.
    """
    named = sa.exists().where(notices.c.event_id == events.c.id)
    removed = await _remove(db, events, events.c.created_at < before, ~named)
    if removed:
        await _correct_groups(db, before=before)
    return removed


async def _correct_groups(db: Database, *, before: datetime) -> None:
    """Let the groups that began before a moment begin with their first stored event."""
    first = sa.func.min(events.c.id)
    query = (
        sa.select(
            event_groups.c.id.label("group"),
            first.label("new_id"),
            sa.func.min(events.c.created_at).label("new_at"),
        )
        .select_from(event_groups.join(events, _IN_GROUP))
        .where(event_groups.c.first_at < before)
        .group_by(event_groups.c.id, event_groups.c.first_id)
        .having(first != event_groups.c.first_id)
    )
    found = {row["group"]: row for row in await db.fetch_all(query)}

    async def correct(ids: Sequence[int]) -> list[int]:
        await db.run_many(_BEGIN_GROUP, [dict(found[each]) for each in ids])
        return [*ids]

    await in_batches(db, [*found], correct)


async def prune_records(db: Database, *, before: datetime) -> int:
    """Remove notifications, alerts, codes, logins and session tokens that ended before a moment."""
    return sum([await _remove(db, table, at < before, more) for table, at, more in _RECORDS])


async def _remove(db: Database, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    rows = await db.fetch_all(sa.select(table.c.id).where(*where).order_by(table.c.id))

    async def remove(ids: Sequence[int]) -> list[Any]:
        await db.execute(sa.delete(table).where(table.c.id.in_(ids)))
        return [*ids]

    return len(await in_batches(db, [row["id"] for row in rows], remove))
