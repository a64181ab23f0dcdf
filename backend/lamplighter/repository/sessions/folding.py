"""Rounds that are folded into one row, and session details that are removed after a time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.sessions.session import OutcomeState, Session, Status, Trigger
from lamplighter.repository.sessions.sessions import ENTITY, session_rows
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import InIdList
from lamplighter.repository.store.tables import (
    checks,
    complete_metadata,
    exposures,
    findings,
    markers,
    prompts,
    retellings,
    searches,
    sessions,
    tokens,
)

OWNED: Final = (prompts, exposures, findings, markers, searches, retellings, checks)
"""The tables of details, whose rows are meaningless without their session."""

SUMMED: Final = (
    *("rounds", "cost_usd", "turns", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "cache_write_tokens"),
)
UNCHANGED: Final = ("learned", "reinforced", "events", "markers_left")
_REFERRING: Final = ("session_id", "parent_id", "child_id", "by_session")


async def healthy_rounds(
    db: Database, *, before: datetime, after: int, limit: int
) -> list[Session]:
    """Return healthy rounds after an ID that started before a moment, in order."""
    columns = sessions.c
    query = (
        sa.select(sessions)
        .where(columns.id > after, columns.started_at < before, columns.tier == 1)
        .where(columns.trigger == Trigger.SCHEDULED, columns.status == Status.COMPLETED)
        .where(columns.outcome_state == OutcomeState.HEALTHY)
        .where(*(columns[name] == 0 for name in UNCHANGED))
        .order_by(columns.id)
        .limit(limit)
    )
    return await session_rows.fetch(db, query)


async def referred(db: Database, ids: Sequence[int]) -> set[int]:
    """Return those of some sessions that rows reference which are stored independently of them."""
    referenced: set[int] = set()
    for table in complete_metadata().sorted_tables:
        for name in _REFERRING if table not in (*OWNED, tokens) else ():
            if name in table.c:
                query = sa.select(table.c[name].label("id")).where(table.c[name].in_(ids))
                referenced |= {row["id"] for row in await db.fetch_all(query.distinct())}
    return referenced


async def fold(db: Database, rounds: Sequence[Session], *, now: datetime) -> Session:
    """Fold rounds into the last of them and remove the others; return the last."""
    *earlier, last = rounds
    sums: dict[str, Any] = {}
    for name in SUMMED:
        values = [getattr(each, name) for each in rounds if getattr(each, name) is not None]
        sums[name] = sum(values) if values else None
    ids = [each.id for each in earlier]
    await remove_sessions(db, ids)
    await changes.blank_rows(db, ENTITY, ids)
    gone = {"ids": ids, "op": ChangeOp.DELETED}
    await changes.append(db, ENTITY, 0, ChangeOp.BATCH, now=now, row=gone)
    return await session_rows.change(db, last.id, sums, now=now)


async def remove_sessions(db: Database, ids: Sequence[int]) -> None:
    """Remove some sessions with their prompts and results."""
    await remove_details(db, ids)
    await db.execute(sa.delete(tokens).where(tokens.c.session_id.in_(ids)))
    await db.execute(sa.delete(sessions).where(sessions.c.id.in_(ids)))


async def with_details(db: Database, *, before: datetime) -> list[int]:
    """Return sessions that ended before a moment and still have a prompt, oldest first."""
    query = (
        sa.select(sessions.c.id)
        .where(sessions.c.ended_at < before)
        .where(sa.exists().where(prompts.c.session_id == sessions.c.id))
        .order_by(sessions.c.id)
    )
    return [row["id"] for row in await db.fetch_all(query)]


async def remove_details(db: Database, ids: Sequence[int]) -> None:
    """Remove the prompts and results of some sessions."""
    for table in OWNED:
        await db.execute(sa.delete(table).where(table.c.session_id.in_(ids)))


async def obsolete(db: Database, ids: Sequence[int], *, before: datetime) -> set[int]:
    """Return those of some session IDs that are removed, or that ended before a moment.

    An ID above all IDs of the database is not included: its row may be in a newer copy.
    """
    query = sa.select(sessions.c.id, sessions.c.ended_at, sessions.c.output_pending).where(
        InIdList(sessions.c.id, sa.literal(str([*ids])))
    )
    rows = {row["id"]: row for row in await db.fetch_all(query)}
    newest = await db.fetch_val(sa.select(sa.func.max(sessions.c.id))) or 0
    gone = {each for each in ids if each not in rows and each < newest}
    over = {
        number
        for number, row in rows.items()
        if row["ended_at"] and row["ended_at"] < before and not row["output_pending"]
    }
    return gone | over
