"""Prompts of clients' users, stored as context for later sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import text_contains
from lamplighter.repository.store.statements import Rows, equal_to, update_rows
from lamplighter.repository.store.tables import client_prompts, reader

MAX_KEYWORDS: Final = 8
_COLUMNS: Final = client_prompts.c
_NOT_WITHDRAWN: Final = _COLUMNS.deleted_at.is_(None)


async def insert(
    db: Database, session_id: int, project: str, content: str, *, now: datetime
) -> ClientPrompt:
    """Store a prompt."""
    return await _rows.store(
        db, session_id=session_id, project=project, content=content, created_at=now
    )


async def get(db: Database, prompt_id: int) -> ClientPrompt | None:
    """Return one prompt, including a withdrawn one."""
    return await _rows.get(db, prompt_id)


async def of_session(db: Database, session_id: int) -> list[ClientPrompt]:
    """Return the prompts of a session that are not withdrawn, oldest first."""
    own = _COLUMNS.session_id == session_id
    return await _rows.oldest(db, _NOT_WITHDRAWN, own)


async def all_of_session(db: Database, session_id: int) -> set[tuple[str, datetime]]:
    """Return all prompts of a session with their times, including withdrawn prompts."""
    query = sa.select(_COLUMNS.content, _COLUMNS.created_at).where(
        _COLUMNS.session_id == session_id
    )
    return {(row["content"], row["created_at"]) for row in await db.fetch_all(query)}


async def withdraw(db: Database, prompt_id: int, *, now: datetime) -> None:
    """Withdraw a prompt: contexts no longer include it."""
    await update_rows(db, client_prompts, _COLUMNS.id == prompt_id, deleted_at=now)


async def restore(db: Database, prompt_id: int) -> ClientPrompt | None:
    """Restore a withdrawn prompt; return None if the prompt has been permanently deleted since."""
    statement = sa.update(client_prompts).where(_COLUMNS.id == prompt_id).values(deleted_at=None)
    return await db.fetch_first(statement.returning(client_prompts), _rows.read)


async def delete(db: Database, prompt_id: int) -> None:
    """Delete a prompt permanently."""
    await db.execute(sa.delete(client_prompts).where(_COLUMNS.id == prompt_id))


async def newest(db: Database, project: str | None, *, limit: int) -> list[ClientPrompt]:
    """Return the newest prompts of one project or of all projects, newest first."""
    chosen = equal_to(_COLUMNS, project=project)
    return await _rows.newest(db, _NOT_WITHDRAWN, *chosen, limit=limit)


async def matching(
    db: Database, words: Sequence[str], project: str | None, *, limit: int
) -> list[ClientPrompt]:
    """Return the prompts that contain any of `words`, those with the most matches first."""
    held = [text_contains(_COLUMNS.content, word) for word in words[:MAX_KEYWORDS]]
    score = sum((sa.case((each, 1), else_=0) for each in held), sa.literal(0))
    query = (
        sa.select(client_prompts)
        .where(_NOT_WITHDRAWN, *equal_to(_COLUMNS, project=project), sa.or_(sa.false(), *held))
        .order_by(score.desc(), _COLUMNS.id.desc())
    )
    return await _rows.fetch(db, query.limit(limit))


async def count(db: Database, project: str | None) -> int:
    """Return the number of prompts."""
    own = equal_to(_COLUMNS, project=project)
    return await db.count_rows(client_prompts, _NOT_WITHDRAWN, *own)


async def move(db: Database, old: str, new: str) -> int:
    """Move the prompts of one project to another project, and return their number."""
    return await update_rows(db, client_prompts, _COLUMNS.project == old, project=new)


_rows: Final = Rows(client_prompts, reader(ClientPrompt))
