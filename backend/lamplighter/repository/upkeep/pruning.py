"""The removal of rows of a certain age, in short writes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.notice import NoticeState
from lamplighter.domain.sessions.session import RequestState
from lamplighter.repository.sessions import folding
from lamplighter.repository.store.database import Database, writing
from lamplighter.repository.store.dialect import UTCDateTime
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import (
    acts,
    alerts,
    approvals,
    client_prompts,
    codes,
    complete_metadata,
    cooldowns,
    days,
    escalations,
    event_groups,
    events,
    graph_steps,
    halts,
    incident_entries,
    incident_members,
    incident_sessions,
    incidents,
    logins,
    notebook_reviews,
    notices,
    organizer_runs,
    requests,
    reviews,
    service_pauses,
    session_activity,
    sessions,
    tokens,
)
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
AT_ONCE: Final = 50
"""Rows in the first write: sessions and incidents have many dependent rows to remove too."""

_DONE: Final = (RequestState.DONE, RequestState.CANCELLED)
INCIDENT_PARTS: Final = (incident_entries, incident_members, incident_sessions)
HISTORY: Final = (
    (approvals, approvals.c.created_at, approvals.c.state != ApprovalState.OPEN),
    (cooldowns, cooldowns.c.settled_at, cooldowns.c.outcome != UseOutcome.RESERVED),
    (escalations, escalations.c.closed_at, sa.true()),
    (halts, halts.c.released_at, sa.true()),
    (requests, requests.c.created_at, requests.c.state.in_(_DONE)),
    (client_prompts, client_prompts.c.created_at, sa.true()),
    (session_activity, session_activity.c.updated_at, sa.true()),
)
JOURNAL: Final = (
    (acts, acts.c.created_at),
    (reviews, reviews.c.resolved_at),
    (organizer_runs, organizer_runs.c.ended_at),
    (notebook_reviews, notebook_reviews.c.resolved_at),
)
_ENDED: Final = (NoticeState.SENT, NoticeState.FAILED, NoticeState.SUPPRESSED)
RECORDS: Final = (
    (notices, notices.c.created_at, notices.c.state.in_(_ENDED)),
    (alerts, alerts.c.resolved_at, sa.true()),
    (codes, codes.c.expires_at, sa.true()),
    (logins, logins.c.expires_at, sa.true()),
    (tokens, tokens.c.revoked_at, tokens.c.session_id.is_not(None)),
)


async def prune_events(db: Database, *, before: datetime) -> int:
    """Remove events from before a moment, oldest first; return their number.

    Their groups then start with the first remaining event.
    """
    named = sa.exists().where(notices.c.event_id == events.c.id)
    removed = await _remove(db, events, events.c.created_at < before, ~named)
    if removed:
        await _correct_groups(db, before=before)
    return removed


async def _correct_groups(db: Database, *, before: datetime) -> None:
    """Move the start of groups from before a moment to their first stored event."""
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
    by_group = {row["group"]: row for row in await db.fetch_all(query)}

    async def correct(ids: Sequence[int]) -> list[int]:
        await db.run_many(_BEGIN_GROUP, [dict(by_group[each]) for each in ids])
        return [*ids]

    await in_batches(db, [*by_group], correct)


async def prune_records(db: Database, *, before: datetime) -> int:
    """Remove notifications, alerts, codes, logins and session tokens that ended before a moment."""
    return sum([await _remove(db, table, at < before, more) for table, at, more in RECORDS])


async def prune_incidents(db: Database, *, before: datetime) -> int:
    """Remove incidents that ended before a moment, with their timelines, and ended pauses.

    Their outcome records stay, because memories are derived from them.
    """
    other = incidents.alias()
    stays = sa.or_(other.c.resolved_at.is_(None), other.c.resolved_at >= before)
    merged = sa.exists().where(other.c.id == incidents.c.merged_into, stays)
    over = (incidents.c.resolved_at < before, ~merged)
    removed = await _remove(db, incidents, *over, parts=INCIDENT_PARTS)
    return removed + await _remove(db, service_pauses, service_pauses.c.ended_at < before)


async def prune_history(db: Database, *, before: datetime) -> int:
    """Remove unreferenced ended sessions, and older approvals, requests and uses."""
    removed = sum([await _remove(db, table, at < before, more) for table, at, more in HISTORY])
    ended = (sessions.c.ended_at < before, sessions.c.output_pending == 0)
    ids = await _ids(db, sessions, *ended)

    async def remove(some: Sequence[int]) -> list[int]:
        free = sorted({*some} - await folding.referred(db, some))
        await folding.remove_sessions(db, free)
        return free

    async with writing(db):
        await db.execute(sa.delete(days).where(days.c.day < before.date().isoformat()))
    return removed + len(await in_batches(db, ids, remove, first=AT_ONCE))


async def prune_journal(db: Database, *, before: datetime) -> int:
    """Remove acts, which can then no longer be undone, and ended runs and reviews."""
    old = sa.select(acts.c.id).where(acts.c.created_at < before)
    steps = await _remove(db, graph_steps, graph_steps.c.act_id.in_(old))
    return steps + sum([await _remove(db, table, at < before) for table, at in JOURNAL])


async def _remove(
    db: Database,
    table: sa.Table,
    *where: sa.ColumnElement[bool],
    parts: Sequence[sa.Table] = (),
) -> int:
    async def remove(ids: Sequence[int]) -> list[Any]:
        for part in parts:
            await db.execute(sa.delete(part).where(part.c.incident_id.in_(ids)))
        await db.execute(sa.delete(table).where(table.c.id.in_(ids)))
        return [*ids]

    return len(await in_batches(db, await _ids(db, table, *where), remove, first=AT_ONCE))


async def _ids(db: Database, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[int]:
    """Return the IDs of rows that match `where` and that no other row references."""
    named = [
        sa.select(key.parent)
        for each in complete_metadata().sorted_tables
        for key in each.foreign_keys
        if key.column is table.c.id and table is not sessions
    ]
    found = sa.select(table.c.id).where(*where)  # except referenced rows
    rows = await db.fetch_all(sa.except_(found, *named) if named else found)
    return sorted(row["id"] for row in rows)
