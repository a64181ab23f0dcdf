"""Queries on the sessions of clients, which are identified by external IDs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.sessions.session import Session, Status, Trigger
from lamplighter.repository.feed import indexing
from lamplighter.repository.sessions.sessions import from_row, publish, session_rows
from lamplighter.repository.store import database
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Statement, count_by, equal_to
from lamplighter.repository.store.tables import KNOWLEDGE, client_prompts, memories, sessions

ENGINE: Final = "client"
# literal SQL as in the indexes, which contain no parameters
_OF_CLIENTS: Final = sessions.c.trigger == sa.literal_column(f"'{Trigger.CLIENT}'")
# same expression as in its index
_SESSION: Final = sa.func.coalesce(memories.c.session_id, 0)

_WITH_EXTERNAL_ID: Final = (
    sa.select(sessions)
    .where(sessions.c.external_id == sa.bindparam("external_id"))
    .where(_OF_CLIENTS)
    .order_by(sessions.c.id.desc())
    .limit(1)
)
_BY_EXTERNAL_ID: Final = Statement(_WITH_EXTERNAL_ID)
_BY_PROJECT_AND_ID: Final = Statement(
    _WITH_EXTERNAL_ID.where(sessions.c.project == sa.bindparam("project"))
)


async def by_external_id(
    db: Database, external_id: str, project: str | None = None
) -> Session | None:
    """Return the newest client session with an external ID, in one project or in any project."""
    prepared = _BY_EXTERNAL_ID if project is None else _BY_PROJECT_AND_ID
    values = {} if project is None else {"project": project}
    return await db.fetch_first(prepared(external_id=external_id, **values), from_row)


async def by_agent(db: Database, external_id: str, agent: str | None) -> Session | None:
    """Return the newest session with an external ID of an agent, or of no agent for None."""
    return await session_rows.last(
        db,
        sessions.c.external_id == external_id,
        sessions.c.agent.is_not_distinct_from(agent),
        _OF_CLIENTS,
    )


async def insert(
    db: Database,
    external_id: str,
    *,
    project: str,
    agent: str | None,
    directory: str | None,
    token_id: int | None = None,
    now: datetime,
) -> Session:
    """Open a client's session."""
    values = {
        "external_id": external_id,
        "project": project,
        "agent": agent,
        "directory": directory,
        "token_id": token_id,
        "tier": 0,
        "engine": ENGINE,
        "trigger": Trigger.CLIENT,
        "status": Status.RUNNING,
        "started_at": now,
    }
    session = from_row(await database.insert(db, values))
    await publish(db, session, ChangeOp.CREATED, now=now)
    return session


async def end(
    db: Database,
    session_id: int,
    status: Status,
    *,
    reason: str = "",
    summary: str = "",
    messages: int = 0,
    now: datetime,
) -> Session:
    """End a session, even again; an empty summary or message count keeps the stored value."""
    values: dict[str, Any] = {"status": status, "ended_at": now, "reason": reason}
    if summary:
        values["summary"] = summary
    if messages:
        values["messages"] = messages
    session = await session_rows.change(db, session_id, values, now=now)
    await indexing.index_changed_session(db, session)
    return session


async def recent(db: Database, project: str, *, limit: int) -> list[Session]:
    """Return the newest sessions of a project that have a summary, newest first."""
    return await session_rows.newest(
        db, sessions.c.project == project, _OF_CLIENTS, sessions.c.summary != "", limit=limit
    )


async def newest(db: Database, project: str | None, *, limit: int) -> list[Session]:
    """Return the newest client sessions of one project or of all projects, newest first."""
    chosen = equal_to(sessions.c, project=project)
    return await session_rows.newest(db, _OF_CLIENTS, *chosen, limit=limit)


async def external_ids(db: Database, ids: Sequence[int]) -> dict[int, str]:
    """Return the external IDs of those of some sessions that are client sessions."""
    if not ids:
        return {}
    query = (
        sa.select(sessions.c.id, sessions.c.external_id)
        .where(sessions.c.id.in_(ids))
        .where(_OF_CLIENTS)
    )
    return {row["id"]: row["external_id"] for row in await db.fetch_all(query)}


async def count_knowledge(db: Database, ids: Sequence[int]) -> dict[int, int]:
    """Return the number of active knowledge memories of each of some sessions."""
    chosen = (_SESSION.in_(ids), memories.c.active == 1, sa.text(KNOWLEDGE))
    return await count_by(db, memories.c.session_id, *chosen) if ids else {}


async def list_inactive(db: Database, *, cutoff: datetime, limit: int) -> list[int]:
    """Return open sessions without a new memory or prompt since `cutoff`, oldest first."""
    saved = sa.exists().where(sessions.c.id == _SESSION).where(memories.c.created_at > cutoff)
    prompted = (
        sa.exists()
        .where(client_prompts.c.session_id == sessions.c.id)
        .where(client_prompts.c.created_at > cutoff)
    )
    query = (
        sa.select(sessions.c.id)
        .where(sessions.c.status == Status.RUNNING)
        .where(_OF_CLIENTS)
        .where(sessions.c.started_at <= cutoff)
        .where(~saved)
        .where(~prompted)
        .order_by(sessions.c.id)
        .limit(limit)
    )
    return [int(row["id"]) for row in await db.fetch_all(query)]


async def count(db: Database, project: str) -> int:
    """Return the number of client sessions in a project."""
    return await db.count_rows(sessions, _OF_CLIENTS, sessions.c.project == project)


async def move(db: Database, old: str, new: str, *, now: datetime) -> int:
    """Move the sessions of one project to another project, and return their number."""
    owned = [_OF_CLIENTS, sessions.c.project == old]
    return len(await session_rows.update(db, owned, {"project": new}, now=now))
