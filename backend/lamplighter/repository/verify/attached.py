"""Checks attached to memories."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from lamplighter.domain.verify.attached import MemoryCheck
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import Rows, update_rows
from lamplighter.repository.store.tables import memories, memory_checks, reader

_rows: Final = Rows(memory_checks, reader(MemoryCheck))
WAITING: Final = "waiting"


async def insert(
    db: Database,
    memory_id: int,
    *,
    service: str | None,
    check: str | None,
    command: str | None,
    cadence: float,
    now: datetime,
) -> MemoryCheck:
    """Attach a check to a memory; it is due at once."""
    return await _rows.store(
        db,
        memory_id=memory_id,
        service=service,
        check=check,
        command=command,
        cadence=cadence,
        created_at=now,
        next_at=now,
        state=WAITING,
        detail="",
    )


async def of_memory(db: Database, memory_id: int) -> list[MemoryCheck]:
    """Return the checks of a memory, oldest first."""
    return await _rows.oldest(db, memory_checks.c.memory_id == memory_id)


async def due(db: Database, *, now: datetime, limit: int) -> list[MemoryCheck]:
    """Return due checks of active memories, the longest due first."""
    query = (
        sa.select(memory_checks)
        .join(memories, memories.c.id == memory_checks.c.memory_id)
        .where(memories.c.active == 1, memory_checks.c.next_at <= now)
        .order_by(memory_checks.c.next_at, memory_checks.c.id)
        .limit(limit)
    )
    return await _rows.fetch(db, query)


async def record(
    db: Database, each: MemoryCheck, state: str, detail: str, *, now: datetime
) -> None:
    """Store the result of a check, and when it is due again."""
    again = now + timedelta(seconds=each.cadence)
    values = {"state": state, "detail": detail, "last_at": now, "next_at": again}
    await update_rows(db, memory_checks, memory_checks.c.id == each.id, **values)


async def remove(db: Database, memory_id: int, number: int) -> bool:
    """Detach a check from a memory; return whether the memory had it."""
    statement = sa.delete(memory_checks).where(
        memory_checks.c.id == number, memory_checks.c.memory_id == memory_id
    )
    return await db.fetch_one(statement.returning(memory_checks.c.id)) is not None


async def make_due(db: Database, ids: Sequence[int], *, now: datetime) -> None:
    """Make the checks of some memories due at once; call it within `writing`."""
    await update_rows(db, memory_checks, memory_checks.c.memory_id.in_(ids), next_at=now)
