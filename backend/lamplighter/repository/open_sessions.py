"""Queries on the sessions that clients have open."""

from datetime import datetime

import sqlalchemy as sa

from lamplighter.domain.change import Op
from lamplighter.domain.session import Session, Status, Trigger
from lamplighter.repository.database import Database
from lamplighter.repository.sessions import from_row, tell
from lamplighter.repository.tables import sessions


async def newest(
    db: Database, project: str, agent: str | None, *, token_id: int | None
) -> Session | None:
    """Return the newest session that a token of an agent, or of none, has open in a project."""
    query = (
        sa.select(sessions)
        .where(sessions.c.project == project)
        .where(sessions.c.agent.is_not_distinct_from(agent))
        .where(sessions.c.token_id.is_not_distinct_from(token_id))
        .where(sessions.c.trigger == Trigger.CLIENT)
        .where(sessions.c.status == Status.RUNNING)
        .order_by(sessions.c.id.desc())
        .limit(1)
    )
    row = await db.fetch_one(query)
    return None if row is None else from_row(row)


async def summarize(db: Database, session_id: int, summary: str, *, now: datetime) -> Session:
    """Give a session the summary that its client wrote."""
    statement = (
        sa.update(sessions)
        .where(sessions.c.id == session_id)
        .values(summary=summary, version=sessions.c.version + 1)
        .returning(sessions)
    )
    session = from_row(await db.fetch_one(statement))
    await tell(db, session, Op.UPDATED, now=now)
    return session
