"""Queries on logins, and on the one-time codes that start them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Login
from lamplighter.domain.change import ChangeOp
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import codes, devices, logins, reader

ENTITY: Final = "login"
_BY_ID: Final = Statement(sa.select(logins).where(logins.c.id == sa.bindparam("login")))


async def insert(
    db: Database, secret_hash: str, agent: str, *, expires_at: datetime, now: datetime
) -> Login:
    """Store a login."""
    statement = (
        sa.insert(logins)
        .values(
            secret_hash=secret_hash,
            agent=agent,
            created_at=now,
            seen_at=now,
            expires_at=expires_at,
        )
        .returning(logins)
    )
    return _login(await db.fetch_one(statement))


async def get_with_hash(db: Database, login_id: int) -> tuple[Login, str] | None:
    """Return a login and the hash of its secret."""
    row = await db.fetch_one(_BY_ID(login=login_id))
    return None if row is None else (_login(row), row["secret_hash"])


async def list_active(db: Database, *, now: datetime) -> list[Login]:
    """Return the logins that grant access, the last used first."""
    query = (
        sa.select(logins)
        .where(logins.c.ended_at.is_(None), logins.c.expires_at > now)
        .order_by(logins.c.seen_at.desc(), logins.c.id.desc())
    )
    return [_login(row) for row in await db.fetch_all(query)]


async def any_active(db: Database, *, now: datetime) -> bool:
    """Whether a person is logged in."""
    query = sa.select(logins.c.id).where(logins.c.ended_at.is_(None), logins.c.expires_at > now)
    return await db.fetch_val(query.limit(1)) is not None


async def end(db: Database, login_id: int, *, now: datetime) -> None:
    """End a login, and remove the devices that were subscribed under it."""
    statement = (
        sa.update(logins)
        .where(logins.c.id == login_id)
        .where(logins.c.ended_at.is_(None))
        .values(ended_at=now)
    )
    if await db.execute(statement):
        await changes.append(db, ENTITY, login_id, ChangeOp.DELETED, now=now)
    await db.execute(sa.delete(devices).where(devices.c.login_id == login_id))


async def record_use(db: Database, login_ids: Sequence[int], *, now: datetime) -> None:
    """Record that logins have been used."""
    await db.execute(sa.update(logins).where(logins.c.id.in_(login_ids)).values(seen_at=now))


async def insert_code(
    db: Database, secret_hash: str, *, expires_at: datetime, now: datetime
) -> None:
    """Store a one-time code."""
    values = {"secret_hash": secret_hash, "created_at": now, "expires_at": expires_at}
    await db.execute(sa.insert(codes).values(**values))


async def expire_codes(db: Database, *, now: datetime) -> None:
    """Expire all unused codes now."""
    statement = (
        sa.update(codes)
        .where(codes.c.used_at.is_(None))
        .where(codes.c.expires_at > now)
        .values(expires_at=now)
    )
    await db.execute(statement)


async def is_usable(db: Database, secret_hash: str, *, now: datetime) -> bool:
    """Whether a code exists that is neither used nor expired."""
    query = (
        sa.select(codes.c.id)
        .where(codes.c.secret_hash == secret_hash)
        .where(codes.c.used_at.is_(None))
        .where(codes.c.expires_at > now)
    )
    return await db.fetch_one(query) is not None


async def use_code(db: Database, secret_hash: str, *, now: datetime) -> bool:
    """Use a one-time code; return False if the code is unknown, used or expired."""
    statement = (
        sa.update(codes)
        .where(codes.c.secret_hash == secret_hash)
        .where(codes.c.used_at.is_(None))
        .where(codes.c.expires_at > now)
        .values(used_at=now)
        .returning(codes.c.id)
    )
    return await db.fetch_one(statement) is not None


_login: Final = reader(Login)
