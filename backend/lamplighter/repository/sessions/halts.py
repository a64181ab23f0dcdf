"""Queries on halts."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.actions.halt import Halt, HaltSource
from lamplighter.domain.change import ChangeOp
from lamplighter.formats import serialize as plain
from lamplighter.repository.store.database import Database, publisher
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import halts, reader

ENTITY: Final = "halt"
_ACTIVE: Final = Statement(
    sa.select(halts)
    .where(halts.c.released_at.is_(None))
    .where(halts.c.way == sa.bindparam("way"))
    .order_by(halts.c.id)
    .limit(1)
)


async def insert(db: Database, way: HaltSource, *, reason: str, by: str, now: datetime) -> Halt:
    """Halt everything."""
    values = {"way": way, "reason": reason, "pulled_by": by, "pulled_at": now}
    statement = sa.insert(halts).values(**values).returning(halts)
    halt = _halt(await db.fetch_one(statement))
    await _publish(db, halt, ChangeOp.CREATED, now=now)
    return halt


async def get_active(db: Database, way: HaltSource = HaltSource.ROW) -> Halt | None:
    """Return the active halt of one kind."""
    row = await db.fetch_one(_ACTIVE(way=way))
    return None if row is None else _halt(row)


async def is_halted(db: Database) -> bool:
    """Return whether any halt is active."""
    return await get_active(db) is not None or await get_active(db, HaltSource.FILE) is not None


async def release(db: Database, halt_id: int, *, by: str, now: datetime) -> Halt | None:
    """Release this halt; None when it is no longer active."""
    statement = (
        sa.update(halts)
        .where(halts.c.id == halt_id)
        .where(halts.c.released_at.is_(None))
        .values(released_by=by, released_at=now, version=halts.c.version + 1)
        .returning(halts)
    )
    row = await db.fetch_one(statement)
    if row is None:
        return None
    halt = _halt(row)
    await _publish(db, halt, ChangeOp.UPDATED, now=now)
    return halt


_publish = publisher(ENTITY, plain.halt)
_halt: Final = reader(Halt)
