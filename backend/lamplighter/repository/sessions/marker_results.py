"""The result of each marker of a session."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.sessions.markers import MarkerReading, MarkerResult
from lamplighter.formats import serialize
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.statements import (
    Key,
    Page,
    PublishedRows,
    Statement,
    in_order,
    prepare_insert,
    publisher,
)
from lamplighter.repository.store.tables import markers, reader

ENTITY: Final = "marker"
_INSERT: Final = prepare_insert(
    markers,
    *("session_id", "offset", "item", "line", "what", "state", "outcome", "reason", "text"),
    *("service", "category", "memory_id", "event_id", "created_at"),
    returning=markers,
)
_COUNT: Final = Statement(
    sa.select(sa.func.count())
    .select_from(markers)
    .where(markers.c.session_id == sa.bindparam("session"))
)
_COUNT_INGESTED: Final = Statement(
    sa.select(sa.func.count())
    .select_from(markers)
    .where(markers.c.session_id == sa.bindparam("session"))
    .where(markers.c.state == MarkerReading.TAKEN)
    .where(markers.c.text == sa.bindparam("words"))
)


async def insert(db: Database, *, now: datetime, **values: Any) -> MarkerResult:
    """Record the result of a marker; `values` are the fields of a MarkerResult but its ID."""
    mark = _rows.read(await db.fetch_one(_INSERT(**values, created_at=now)))
    await _publish(db, mark, ChangeOp.CREATED, now=now)
    return mark


async def get(db: Database, mark_id: int) -> MarkerResult | None:
    """Return one marker."""
    return await _rows.get(db, mark_id)


async def accept_ignored(
    db: Database, mark_id: int, *, now: datetime, **values: Any
) -> MarkerResult | None:
    """Mark an ignored marker as ingested; return None if the marker is not ignored."""
    ignored = [markers.c.id == mark_id, markers.c.state == MarkerReading.IGNORED]
    values = {"state": MarkerReading.TAKEN, **values}
    return await _rows.update_one(db, ignored, values, now=now)


async def page(
    db: Database, session_id: int, *, limit: int, position: Sequence[Any] | None = None
) -> Page[MarkerResult]:
    """Return one page of the markers of a session, in the order they were printed."""
    query = sa.select(markers).where(markers.c.session_id == session_id)
    return await in_order(db, query, Key(markers.c.id), _rows.read, limit=limit, position=position)


async def count(db: Database, session_id: int) -> int:
    """Return the number of markers that a session has printed."""
    return int(await db.fetch_val(_COUNT(session=session_id)))


async def was_ingested(db: Database, session_id: int, text: str) -> bool:
    """Whether a marker with this text was already ingested from a session."""
    return bool(await db.fetch_val(_COUNT_INGESTED(session=session_id, words=text)))


async def blank_texts(db: Database, ids: Sequence[int]) -> None:
    """Blank the texts of the markers that permanently deleted memories came from."""
    theirs = markers.c.memory_id.in_(ids)
    await changes.blank_rows(db, ENTITY, sa.select(markers.c.id).where(theirs))
    await db.execute(sa.update(markers).where(theirs).values(text="", reason=""))


_publish = publisher(ENTITY, serialize.marker_result)
_rows: Final = PublishedRows(markers, reader(MarkerResult), _publish)
