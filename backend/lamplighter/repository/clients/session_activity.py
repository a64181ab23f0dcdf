"""Queries on the files, tasks and subagents of interactive sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.clients.activity import ActivityKind, ActivityReport, SessionActivity
from lamplighter.domain.memory.memory import Category, Source
from lamplighter.domain.sessions.session import Session, Trigger
from lamplighter.repository.sessions.sessions import session_rows
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows, has_row, update_rows
from lamplighter.repository.store.tables import memories, reader, session_activity, sessions

MAX_ROWS: Final = 200
"""The maximum number of rows per session; later files and tasks are left out."""

_COLUMNS: Final = session_activity.c


async def record(db: Database, session_id: int, report: ActivityReport, *, now: datetime) -> None:
    """Insert or update a row; call it within `writing`."""
    own = _of(session_id, report)
    if await has_row(db, *own):
        changes = {"text": report.text, "done": report.done}
        values = {name: value for name, value in changes.items() if value not in ("", None)}
        await update_rows(db, session_activity, *own, **values, updated_at=now)
        return
    count = await db.count_rows(session_activity, _COLUMNS.session_id == session_id)
    if report.text and count < MAX_ROWS:
        values = {"kind": report.kind, "key": report.key, "text": report.text}
        statement = sa.insert(session_activity).values(session_id=session_id, **values)
        await db.execute(statement.values(done=bool(report.done), updated_at=now))


async def delete_kind(db: Database, session_id: int, kind: ActivityKind) -> None:
    """Remove the rows of one kind: a client replaces its list as a whole."""
    own = (_COLUMNS.session_id == session_id, _COLUMNS.kind == kind)
    await db.execute(sa.delete(session_activity).where(*own))


async def of_sessions(db: Database, ids: Sequence[int]) -> list[SessionActivity]:
    """Return the activity of sessions, the most recent first."""
    query = (
        sa.select(session_activity)
        .where(_COLUMNS.session_id.in_(ids))
        .order_by(_COLUMNS.updated_at.desc(), _COLUMNS.id.desc())
    )
    return await _rows.fetch(db, query)


async def decisions_of(db: Database, ids: Sequence[int]) -> list[tuple[int, str]]:
    """Return the decisions that a user or an agent stated in sessions, oldest first."""
    query = (
        sa.select(memories.c.session_id, memories.c.title, memories.c.observation)
        .where(memories.c.session_id.in_(ids))
        .where(memories.c.category == Category.DECISION)
        .where(memories.c.source.in_((Source.OWNER, Source.CLIENT)))
        .where(memories.c.active == 1)
        .order_by(memories.c.id)
    )
    return [
        (row["session_id"], row["title"] or row["observation"]) for row in await db.fetch_all(query)
    ]


async def latest_sessions(
    db: Database, project: str, *, without: int | None, limit: int
) -> list[Session]:
    """Return the newest interactive sessions of one project, newest first."""
    return await session_rows.newest(
        db,
        sessions.c.project == project,
        sessions.c.trigger == Trigger.CLIENT,
        sessions.c.directory.is_not(None),
        sessions.c.id != (without or 0),
        limit=limit,
    )


async def has(db: Database, session_id: int, kind: ActivityKind, key: str) -> bool:
    """Whether a session has a row of this kind and key."""
    return await has_row(db, *_of(session_id, ActivityReport(kind, key, "")))


def _of(session_id: int, report: ActivityReport) -> tuple[Any, ...]:
    return (
        _COLUMNS.session_id == session_id,
        _COLUMNS.kind == report.kind,
        _COLUMNS.key == report.key,
    )


_rows: Final = Rows(session_activity, reader(SessionActivity))
