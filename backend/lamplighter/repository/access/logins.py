"""Queries on logins, and on the one-time codes that start them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.access.access import Login
from lamplighter.domain.change import ChangeOp
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows, Statement, has_row, update_rows
from lamplighter.repository.store.tables import codes, devices, logins, reader

ENTITY: Final = "login"
_BY_ID: Final = Statement(sa.select(logins).where(logins.c.id == sa.bindparam("login")))


async def insert(
    db: Database, secret_hash: str, agent: str, *, expires_at: datetime, now: datetime
) -> Login:
    """Store a login."""
    return await _rows.store(
        db, secret_hash=secret_hash, agent=agent, created_at=now, seen_at=now, expires_at=expires_at
    )


async def get_with_hash(db: Database, login_id: int) -> tuple[Login, str] | None:
    """Return a login and the hash of its secret."""
    row = await db.fetch_one(_BY_ID(login=login_id))
    return None if row is None else (_rows.read(row), row["secret_hash"])


async def list_active(db: Database, *, now: datetime) -> list[Login]:
    """Return the logins that grant access, the last used first."""
    query = (
        sa.select(logins)
        .where(logins.c.ended_at.is_(None), logins.c.expires_at > now)
        .order_by(logins.c.seen_at.desc(), logins.c.id.desc())
    )
    return await _rows.fetch(db, query)


async def any_active(db: Database, *, now: datetime) -> bool:
    """Whether a person is logged in."""
    return await has_row(db, logins.c.ended_at.is_(None), logins.c.expires_at > now)


async def end(db: Database, login_id: int, *, now: datetime) -> None:
    """End a login, and remove the devices that were subscribed under it."""
    own = logins.c.id == login_id
    if await update_rows(db, logins, own, logins.c.ended_at.is_(None), ended_at=now):
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
    await update_rows(
        db, codes, codes.c.used_at.is_(None), codes.c.expires_at > now, expires_at=now
    )


async def is_usable(db: Database, secret_hash: str, *, now: datetime) -> bool:
    """Whether a code exists that is neither used nor expired."""
    return await has_row(
        db, codes.c.secret_hash == secret_hash, codes.c.used_at.is_(None), codes.c.expires_at > now
    )


async def use_code(db: Database, secret_hash: str, *, now: datetime) -> bool:
    """Use a one-time code; return False if the code is unknown, used or expired."""
    usable = (codes.c.used_at.is_(None), codes.c.expires_at > now)
    own = codes.c.secret_hash == secret_hash
    return bool(await update_rows(db, codes, own, *usable, used_at=now))


_rows: Final = Rows(logins, reader(Login))
