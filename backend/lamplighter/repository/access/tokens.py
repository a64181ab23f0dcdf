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
from lamplighter.repository.store.statements import Page, Statement, newest_first
from lamplighter.repository.store.tables import reader, tokens

_COLUMNS: Final = [column for column in tokens.c if column.name != "secret_hash"]
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
    statement = (
        sa.insert(tokens)
        .values(
            name=name,
            scopes=list(scopes),
            secret_hash=secret_hash,
            session_id=session_id,
            created_at=now,
            expires_at=expires_at,
            agent=agent,
        )
        .returning(*_COLUMNS)
    )
    return _token(await db.fetch_one(statement))


async def get_with_hash(db: Database, token_id: int) -> tuple[Token, str] | None:
    """Return a token and the hash of its secret."""
    row = await db.fetch_one(_BY_ID(token=token_id))
    if row is None:
        return None
    fields = dict(row)
    return _token(fields), fields["secret_hash"]


async def page(db: Database, *, limit: int, position: Sequence[Any] | None = None) -> Page[Token]:
    """Return one page of the tokens that were issued to programs, newest first."""
    query = sa.select(*_COLUMNS).where(tokens.c.session_id.is_(None))
    return await newest_first(db, query, tokens.c.id, _token, limit=limit, position=position)


async def revoke(db: Database, token_id: int, *, now: datetime) -> Token | None:
    """Revoke a token; return None if the token does not exist or is already revoked."""
    statement = (
        sa.update(tokens)
        .where(tokens.c.id == token_id)
        .where(tokens.c.revoked_at.is_(None))
        .values(revoked_at=now, version=tokens.c.version + 1)
        .returning(*_COLUMNS)
    )
    row = await db.fetch_one(statement)
    if row is None:
        return None
    await changes.append(db, ENTITY, token_id, ChangeOp.DELETED, now=now, version=row["version"])
    return _token(row)


async def revoke_named(db: Database, name: str, *, now: datetime) -> None:
    """Revoke the tokens with a name."""
    await _revoke_each(db, tokens.c.name == name, now=now)


async def revoke_for_session(db: Database, session_id: int, *, now: datetime) -> None:
    """Revoke the token of a session."""
    await _revoke_each(db, tokens.c.session_id == session_id, now=now)


async def _revoke_each(db: Database, which: sa.ColumnElement[bool], *, now: datetime) -> None:
    statement = (
        sa.update(tokens)
        .where(which, tokens.c.revoked_at.is_(None))
        .values(revoked_at=now, version=tokens.c.version + 1)
        .returning(tokens.c.id, tokens.c.version)
    )
    for row in await db.fetch_all(statement):
        await changes.append(
            db, ENTITY, row["id"], ChangeOp.DELETED, now=now, version=row["version"]
        )


async def record_use(db: Database, token_ids: Sequence[int], *, now: datetime) -> None:
    """Record that tokens have been used."""
    await db.execute(sa.update(tokens).where(tokens.c.id.in_(token_ids)).values(used_at=now))


_token: Final = reader(Token)
