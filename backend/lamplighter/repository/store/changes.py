"""The change feed; each entry is written in the transaction of its change."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
import sqlalchemy as sa

from lamplighter.domain.change import Change, ChangeOp
from lamplighter.repository.store.database import Database, reading
from lamplighter.repository.store.dialect import NUMBER, Json
from lamplighter.repository.store.statements import (
    Fetch,
    Statement,
    prepare_insert,
    update_rows,
    value_of,
)
from lamplighter.repository.store.tables import changes

PAGE: Final = 500
_AFTER: Final = Statement(
    sa.select(changes)
    .where(changes.c.seq > sa.bindparam("after", type_=NUMBER))
    .order_by(changes.c.seq)
    .limit(sa.bindparam("most", type_=NUMBER)),
    long=True,
)
_LAST: Final = Statement(sa.select(sa.func.max(changes.c.seq)))
BOUNDS: Final = tuple(
    sa.func.coalesce(sa.select(number).scalar_subquery(), 0).label(name)
    for name, number in (
        ("first", sa.func.min(changes.c.seq)),
        ("last", sa.func.max(changes.c.seq)),
    )
)
"""The numbers of the oldest and the newest change, 0 without changes, as query columns."""

_BOUNDS: Final = Statement(sa.select(*BOUNDS))
V = TypeVar("V")
_INSERT: Final = prepare_insert(changes, "entity", "entity_id", "op", "version", "row", "at")


async def append(
    db: Database,
    entity: str,
    entity_id: int,
    op: ChangeOp,
    *,
    now: datetime,
    version: int = 0,
    row: dict[str, Any] | None = None,
) -> None:
    """Record a change; call it within `writing`, together with the change itself."""
    await db.execute(
        _INSERT(
            entity=entity,
            entity_id=entity_id,
            op=op,
            version=version,
            row=None if row is None else Json.written(row),
            at=now,
        )
    )
    db.changed = True


async def list_after(db: Database, seq: int, *, limit: int = PAGE) -> list[Change]:
    """Return the changes after `seq`, oldest first."""
    return [_change(row) for row in await db.fetch_all(_AFTER(after=seq, most=limit))]


async def next_batch(db: Database, seq: int, *, limit: int) -> tuple[list[Change], bool]:
    """Return the next changes, of at most `limit` rows or a single one; and whether more follow.

    A bulk act publishes changes of many rows: their number alone would not limit a transaction.
    """
    listed = await list_after(db, seq, limit=limit)
    rows, batch = 0, list[Change]()
    for each in listed:
        rows += len(each.ids)
        if batch and rows > limit:
            break
        batch.append(each)
    return batch, len(listed) == limit or len(batch) < len(listed)


async def list_encoded_after(db: Database, seq: int) -> list[Change]:
    """Return the changes after `seq`, oldest first, each row as its JSON text."""
    found = await db.fetch_all(_AFTER(after=seq, most=PAGE))
    return [_change(row, lambda text: msgspec.Raw(text.encode())) for row in found]


async def last_seq(db: Database) -> int:
    """Return the number of the newest change, or 0."""
    return await db.fetch(last_seq_fetch())


def last_seq_fetch() -> Fetch[int]:
    """Build the fetch of the number of the newest change, or 0."""
    return Fetch([_LAST()], lambda found: int(value_of(found[0], 0) or 0))


@asynccontextmanager
async def snapshot(db: Database) -> AsyncIterator[int]:
    """Read several things as of one moment; yields the number of its newest change."""
    async with reading(db):
        yield await last_seq(db)


async def has_missed(db: Database, seq: int) -> bool:
    """Whether a reader at `seq` has missed changes that are no longer stored."""
    return is_outside(seq, await db.fetch_one(_BOUNDS()))


def is_outside(seq: int, bounds: Any) -> bool:
    """Whether the changes after `seq` are not all stored.

    A number after the last change is from another database: the reader starts again.
    """
    return bool(seq > bounds["last"] or seq + 1 < bounds["first"])


async def blank_rows(db: Database, entity: str, ids: sa.Select[tuple[int]] | Sequence[int]) -> None:
    """Blank the payloads of permanently deleted rows, by IDs or by a query that returns IDs."""
    await update_rows(
        db, changes, changes.c.entity == entity, changes.c.entity_id.in_(ids), row=None
    )


async def prune(db: Database, *, before: datetime) -> int:
    """Remove changes from before a moment and return their number; the newest always stays.

    The newest change holds the number from which the feed continues.
    """
    newest = sa.select(sa.func.max(changes.c.seq)).scalar_subquery()
    statement = sa.delete(changes).where(changes.c.at < before).where(changes.c.seq < newest)
    return int(await db.execute(statement))


def _change(row: Any, read: Callable[[str], Any] = json.loads) -> Change:
    payload = None if row["row"] is None else read(row["row"])
    return Change(
        row["seq"],
        row["entity"],
        row["entity_id"],
        ChangeOp(row["op"]),
        row["version"],
        payload,
        row["at"],
    )
