"""Queries on halts."""

from datetime import datetime
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.actions.halt import Halt, HaltSource
from lamplighter.formats import serialize as plain
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    Fetch,
    PublishedRows,
    Statement,
    fetch_optional,
    publisher,
)
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
    return await _rows.insert(db, values, now=now)


async def get_active(db: Database, way: HaltSource = HaltSource.ROW) -> Halt | None:
    """Return the active halt of one kind."""
    return await db.fetch(active_fetch(way))


def active_fetch(way: HaltSource = HaltSource.ROW) -> Fetch[Halt | None]:
    """Build the fetch of the active halt of one kind."""
    return fetch_optional(_ACTIVE(way=way), _rows.read)


async def is_halted(db: Database) -> bool:
    """Whether any halt is active."""
    return await get_active(db) is not None or await get_active(db, HaltSource.FILE) is not None


async def release(db: Database, halt_id: int, *, by: str, now: datetime) -> Halt | None:
    """Release this halt; return None if it is no longer active."""
    holds = [halts.c.id == halt_id, halts.c.released_at.is_(None)]
    return await _rows.update_one(db, holds, {"released_by": by, "released_at": now}, now=now)


_rows: Final = PublishedRows(halts, reader(Halt), publisher(ENTITY, plain.halt))
