"""Queries on tokens.

The change feed contains only the ID of a revoked token, because callers with fewer scopes read the
feed.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Token
from lamplighter.domain.change import ChangeOp
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Page, Rows, Statement
from lamplighter.repository.store.tables import reader, tokens

ENTITY: Final = "token"
_BY_ID: Final = Statement(sa.select(tokens).where(tokens.c.id == sa.bindparam("token")))


async def insert(
    db: Database,
    name: str,
    scopes: Sequence[str],
    secret_hash: str,
    *,
    session_id: int | None,
    expires_at: datetime | None,
    agent: str | None = None,
    now: datetime,
) -> Token:
    """Store a token."""
    return await _rows.store(
        db,
        name=name,
        scopes=list(scopes),
        secret_hash=secret_hash,
        session_id=session_id,
        created_at=now,
        expires_at=expires_at,
        agent=agent,
    )


async def get_with_hash(db: Database, token_id: int) -> tuple[Token, str] | None:
    """Return a token and the hash of its secret."""
    row = await db.fetch_one(_BY_ID(token=token_id))
    return None if row is None else (_rows.read(row), row["secret_hash"])


async def page(db: Database, *, limit: int, position: Sequence[Any] | None = None) -> Page[Token]:
    """Return one page of the tokens that were issued to programs, newest first."""
    return await _rows.page(db, tokens.c.session_id.is_(None), limit=limit, position=position)


async def revoke(db: Database, token_id: int, *, now: datetime) -> Token | None:
    """Revoke a token; return None if the token does not exist or is already revoked."""
    return next(iter(await _revoke(db, tokens.c.id == token_id, now=now)), None)


async def revoke_named(db: Database, name: str, *, now: datetime) -> None:
    """Revoke the tokens with a name."""
    await _revoke(db, tokens.c.name == name, now=now)


async def revoke_for_session(db: Database, session_id: int, *, now: datetime) -> None:
    """Revoke the token of a session."""
    await _revoke(db, tokens.c.session_id == session_id, now=now)


async def _revoke(db: Database, which: sa.ColumnElement[bool], *, now: datetime) -> list[Token]:
    statement = (
        sa.update(tokens)
        .where(which, tokens.c.revoked_at.is_(None))
        .values(revoked_at=now, version=tokens.c.version + 1)
        .returning(tokens)
    )
    rows = await db.fetch_all(statement)
    for row in rows:
        at = row["version"]
        await changes.append(db, ENTITY, row["id"], ChangeOp.DELETED, now=now, version=at)
    return [_rows.read(row) for row in rows]


async def record_use(db: Database, token_ids: Sequence[int], *, now: datetime) -> None:
    """Record that tokens have been used."""
    await db.execute(sa.update(tokens).where(tokens.c.id.in_(token_ids)).values(used_at=now))


_rows: Final = Rows(tokens, reader(Token))
