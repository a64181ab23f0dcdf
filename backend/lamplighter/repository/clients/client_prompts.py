"""Prompts of clients' users, stored as context for later sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import text_contains
from lamplighter.repository.store.statements import equal_to
from lamplighter.repository.store.tables import client_prompts, reader

MAX_KEYWORDS: Final = 8
_COLUMNS: Final = client_prompts.c
_NOT_WITHDRAWN: Final = _COLUMNS.deleted_at.is_(None)


async def insert(
    db: Database, session_id: int, project: str, content: str, *, now: datetime
) -> ClientPrompt:
    """Store a prompt."""
    statement = (
        sa.insert(client_prompts)
        .values(session_id=session_id, project=project, content=content, created_at=now)
        .returning(client_prompts)
    )
    return _prompt(await db.fetch_one(statement))


async def get(db: Database, prompt_id: int) -> ClientPrompt | None:
    """Return one prompt, including a withdrawn one."""
    return await db.fetch_first(sa.select(client_prompts).where(_COLUMNS.id == prompt_id), _prompt)


async def of_session(db: Database, session_id: int) -> list[ClientPrompt]:
    """Return the prompts of a session that are not withdrawn, oldest first."""
    query = _of_project(None).where(_COLUMNS.session_id == session_id).order_by(_COLUMNS.id)
    return [_prompt(row) for row in await db.fetch_all(query)]


async def all_of_session(db: Database, session_id: int) -> set[tuple[str, datetime]]:
    """Return all prompts of a session with their times, including withdrawn prompts."""
    query = sa.select(_COLUMNS.content, _COLUMNS.created_at).where(
        _COLUMNS.session_id == session_id
    )
    return {(row["content"], row["created_at"]) for row in await db.fetch_all(query)}


async def withdraw(db: Database, prompt_id: int, *, now: datetime) -> None:
    """Withdraw a prompt: contexts no longer include it."""
    await db.execute(
        sa.update(client_prompts).where(_COLUMNS.id == prompt_id).values(deleted_at=now)
    )


async def restore(db: Database, prompt_id: int) -> ClientPrompt | None:
    """Restore a withdrawn prompt; return None if the prompt has been permanently deleted since."""
    statement = sa.update(client_prompts).where(_COLUMNS.id == prompt_id).values(deleted_at=None)
    return await db.fetch_first(statement.returning(client_prompts), _prompt)


async def delete(db: Database, prompt_id: int) -> None:
    """Delete a prompt permanently."""
    await db.execute(sa.delete(client_prompts).where(_COLUMNS.id == prompt_id))


async def newest(db: Database, project: str | None, *, limit: int) -> list[ClientPrompt]:
    """Return the newest prompts of one project or of all projects, newest first."""
    query = _of_project(project).order_by(_COLUMNS.id.desc()).limit(limit)
    return [_prompt(row) for row in await db.fetch_all(query)]


async def matching(
    db: Database, words: Sequence[str], project: str | None, *, limit: int
) -> list[ClientPrompt]:
    """Return the prompts that contain any of `words`, those with the most matches first."""
    held = [text_contains(_COLUMNS.content, word) for word in words[:MAX_KEYWORDS]]
    score = sum((sa.case((each, 1), else_=0) for each in held), sa.literal(0))
    query = _of_project(project).where(sa.or_(sa.false(), *held))
    rows = await db.fetch_all(query.order_by(score.desc(), _COLUMNS.id.desc()).limit(limit))
    return [_prompt(row) for row in rows]


async def count(db: Database, project: str | None) -> int:
    """Return the number of prompts."""
    own = equal_to(_COLUMNS, project=project)
    return await db.count_rows(client_prompts, _NOT_WITHDRAWN, *own)


async def move(db: Database, old: str, new: str) -> int:
    """Move the prompts of one project to another project, and return their number."""
    statement = (
        sa.update(client_prompts)
        .where(_COLUMNS.project == old)
        .values(project=new)
        .returning(_COLUMNS.id)
    )
    return len(await db.fetch_all(statement))


def _of_project(project: str | None) -> Any:
    own = equal_to(_COLUMNS, project=project)
    return sa.select(client_prompts).where(_NOT_WITHDRAWN, *own)


_prompt: Final = reader(ClientPrompt)
