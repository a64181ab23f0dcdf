"""The trash: deleted memories, unchanged until they are restored or purged.

A row is moved within the database, byte for byte. Rows that reference its ID (history, links,
markers, exposures) stay in place; search terms, vectors and analyses are rebuilt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.memory.memory import Memory, MemoryId
from lamplighter.formats import serialize
from lamplighter.repository.memory import reviews
from lamplighter.repository.memory.bulk import CHOSEN, IDS, NOW, bind, ids_as_json, publish
from lamplighter.repository.memory.history import (
    DELETED,
    PURGED,
    RESTORED,
    ChangeOrigin,
    blank_quotes,
)
from lamplighter.repository.memory.memories import ENTITY, from_row, list_by_ids
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, InIdList, text_contains
from lamplighter.repository.store.statements import Page, Rows, Statement, count_by, values_of
from lamplighter.repository.store.tables import (
    acts,
    analyses,
    history,
    imports,
    links,
    memories,
    memory_checks,
    memory_periods,
    trash,
    trash_imports,
    verifications,
)
from lamplighter.repository.store.tables import changes as feed
from lamplighter.repository.store.unreadable import is_readable

TRASH: Final = "trash"
_COLUMNS: Final = tuple(each.name for each in memories.columns)
_IMPORTED: Final = tuple(each.name for each in imports.columns)
_ADDED: Final = ("deleted_at", "deleted_by", "act_id")
_EARLIER: Final = history.alias()
_IN_TRASH: Final = InIdList(trash.c.id, IDS)
_ACTOR: Final = bind("actor", sa.Text)
_ACT: Final = bind("act", NUMBER)


@dataclass(frozen=True, slots=True)
class TrashedMemory:
    """A memory in the trash; `memory` is None if the row is unreadable."""

    id: MemoryId
    memory: Memory | None
    deleted_at: datetime
    deleted_by: str
    act_id: int | None


async def move(
    db: Database, ids: Sequence[int], why: ChangeOrigin, *, now: datetime, alone: bool = False
) -> list[int]:
    """Move memories to the trash and return their IDs; call it within `writing`.

    With `alone`, the feed receives a change for each row, else one change for all.
    """
    values = _values(ids, why, now=now)
    there = {row["id"]: row["version"] for row in await db.fetch_all(_THERE(**values))}
    for statement in _MOVE:
        await db.execute(statement(**{**values, "ids": ids_as_json(list(there))}))
    moved = list(there)
    if alone:
        for number, version in there.items():
            await changes.append(db, ENTITY, number, ChangeOp.DELETED, now=now, version=version + 1)
    else:
        await publish(db, moved, ChangeOp.DELETED, now=now)
    await reviews.close_deleted(db, moved, now=now)
    return moved


async def restore(
    db: Database, ids: Sequence[int], why: ChangeOrigin, *, now: datetime, alone: bool = False
) -> list[int]:
    """Restore memories unchanged and return their IDs; call it within `writing`."""
    values = _values(ids, why, now=now)
    there = [row["id"] for row in await db.fetch_all(_TRASHED_IDS(**values))]
    for statement in _RESTORE:
        await db.execute(statement(**{**values, "ids": ids_as_json(there)}))
    if alone:
        from lamplighter.repository.feed import indexing  # slow import, not needed by reads

        for memory in await list_by_ids(db, there):
            await indexing.index_changed_memory(db, memory)
            row = serialize.memory(memory)
            await changes.append(
                db, ENTITY, memory.id, ChangeOp.CREATED, now=now, version=memory.version, row=row
            )
    else:
        await publish(db, there, ChangeOp.CREATED, now=now)
    await reviews.reopen_restored(db, there, now=now)
    return there


async def restore_deletion(db: Database, memory_id: int, entry: int, *, now: datetime) -> None:
    """Reset the time and the author of a deletion to those before a change of the memory.

    Reviews that the memory's return to the trash at `now` closed get their previous closing time.
    """
    query = _deletions().where(history.c.memory_id == memory_id, history.c.id < entry)
    row: Any = await db.fetch_one(
        query.where(history.c.cause == DELETED).order_by(history.c.id.desc()).limit(1)
    )
    values = {"deleted_at": row["at"], "deleted_by": row["actor"], "act_id": row["act_id"]}
    await db.execute(sa.update(trash).where(trash.c.id == memory_id).values(**values))
    for each in await reviews.ended_at(db, memory_id, now):
        sides = history.c.memory_id.in_([each.old_id, each.new_id])
        ended = _end(await db.fetch_all(_deletions().where(sides, history.c.id < entry)))
        if ended is not None:
            await reviews.set_end(db, each.id, ended, now=now)


def _deletions() -> sa.Select[Any]:
    """Select the deletions and restores in effect, without undone restores and their undos."""
    undoing = sa.select(acts.c.id).where(acts.c.undoes.in_(_restoring_acts()))
    undone = sa.select(acts.c.undoes).where(acts.c.undoes.is_not(None))
    restored = (history.c.cause == RESTORED) & history.c.act_id.not_in(undone)
    deleted = (history.c.cause == DELETED) & history.c.act_id.not_in(undoing)
    return sa.select(history).where(
        restored | deleted | (history.c.cause.in_([DELETED, RESTORED]) & history.c.act_id.is_(None))
    )


def _restoring_acts() -> sa.Select[Any]:
    return sa.select(_EARLIER.c.act_id).where(
        _EARLIER.c.cause == RESTORED, _EARLIER.c.act_id.is_not(None)
    )


def _end(steps: Sequence[Any]) -> datetime | None:
    """Return since when at least one of two memories has been in the trash."""
    ended, gone = None, set[int]()
    for step in sorted(steps, key=lambda each: each["id"]):
        if step["cause"] == RESTORED:
            gone.discard(step["memory_id"])
        else:
            ended = ended if gone else step["at"]
            gone.add(step["memory_id"])
    return ended


async def purge(db: Database, ids: Sequence[int], why: ChangeOrigin, *, now: datetime) -> list[int]:
    """Purge memories from the trash, and their texts everywhere except in sent prompts.

    Their IDs, and who deleted them and when, stay in the history.
    """
    from lamplighter.repository.sessions import marker_results  # not needed by a list

    values = _values(ids, why, now=now)
    there = [row["id"] for row in await db.fetch_all(_TRASHED_IDS(**values))]
    for statement in _PURGE:
        await db.execute(statement(**{**values, "ids": ids_as_json(there)}))
    await blank_quotes(db, [MemoryId(each) for each in there])
    await marker_results.blank_texts(db, there)
    await reviews.blank_texts(db, there, now=now)
    if there:
        row = {"ids": there, "op": ChangeOp.DELETED}
        await changes.append(db, TRASH, 0, ChangeOp.BATCH, now=now, row=row)
    return there


async def get(db: Database, memory_id: int) -> TrashedMemory | None:
    """Return one memory of the trash."""
    return await _rows.get(db, memory_id)


async def by_ids(db: Database, ids: Sequence[int]) -> list[TrashedMemory]:
    """Return those of some memories that are in the trash."""
    rows = await db.fetch_all(_BY_IDS(ids=ids_as_json(ids)))
    return [_trashed_memory(row) for row in rows]


async def page(
    db: Database, *, q: str = "", limit: int, position: Sequence[Any] | None = None
) -> Page[TrashedMemory]:
    """Return one page of the trash, the highest ID first."""
    return await _rows.page(db, *_matching(q), limit=limit, position=position)


async def count(db: Database, *, q: str = "") -> int:
    """Return the number of memories in the trash."""
    return await db.count_rows(trash, *_matching(q))


async def count_related(db: Database, ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the number of history entries and of links for each memory."""
    totals = {number: {"changes": 0, "links": 0} for number in ids}
    owners = (
        ("changes", history.c.memory_id),
        ("links", links.c.memory_id),
        ("links", links.c.target_id),
    )
    for name, owner in owners:
        for number, count in (await count_by(db, owner, owner.in_(ids))).items():
            totals[number][name] += count
    return totals


async def of_act(db: Database, act_id: int) -> list[int]:
    """Return the memories in the trash that an act deleted."""
    return await values_of(db, trash.c.id, trash.c.act_id == act_id)


async def expired(db: Database, *, before: datetime) -> list[int]:
    """Return the memories that were deleted before `before`, the oldest deletion first."""
    query = sa.select(trash.c.id).where(trash.c.deleted_at < before)
    rows = await db.fetch_all(query.order_by(trash.c.deleted_at, trash.c.id))
    return [row["id"] for row in rows]


def _matching(q: str) -> list[Any]:
    return [text_contains(trash.c.observation, q)] if q else []


def _values(ids: Sequence[int], why: ChangeOrigin, *, now: datetime) -> dict[str, Any]:
    return {
        "ids": ids_as_json(ids),
        "now": now,
        "actor": why.actor,
        "act": why.act_id,
        "session": why.session_id,
        "reason": why.reason,
    }


def _trashed_memory(row: Any) -> TrashedMemory:
    at, by, act = (row[name] for name in _ADDED)
    memory = from_row(row) if is_readable(row) else None
    return TrashedMemory(MemoryId(row["id"]), memory, at, by, act)


_rows: Final = Rows(trash, _trashed_memory)


def _recording(table: sa.Table, version: Any, cause: str, where: Any) -> sa.Insert:
    """Build the history entries for rows; their texts stay in the trash."""
    names = ("memory_id", "version", "at", "actor", "session_id", "cause", "reason", "act_id")
    session, reason = bind("session", NUMBER), bind("reason", sa.Text)
    said = sa.literal(cause, sa.Text)
    query = sa.select(table.c.id, version, NOW, _ACTOR, session, said, reason, _ACT).where(where)
    return sa.insert(history).from_select(names, query)


def _moving(source: sa.Table, target: sa.Table, names: Sequence[str], *where: Any) -> sa.Insert:
    query = sa.select(*(source.c[name] for name in names)).where(*where)
    return sa.insert(target).from_select(names, query)


def _move_statements() -> sa.Insert:
    held = (memories.c[name] for name in _COLUMNS)
    query = sa.select(*held, NOW, _ACTOR, _ACT).where(CHOSEN)
    return sa.insert(trash).from_select((*_COLUMNS, *_ADDED), query)


_OF_IMPORTS: Final = InIdList(imports.c.memory_id, IDS)
_OF_TRASHED: Final = InIdList(trash_imports.c.memory_id, IDS)
_REIMPORTED: Final = sa.exists().where(imports.c.ref == trash_imports.c.ref)
_IMPORTED_AGAIN: Final = trash_imports.c.ref.in_(sa.select(imports.c.ref).where(_OF_IMPORTS))
"""The origins of memories in the trash whose later import follows them there, and keeps these."""
_FEED: Final = (
    feed.c.entity == ENTITY,
    InIdList(feed.c.entity_id, IDS),
    feed.c.row.is_not(None),
)

_THERE: Final = Statement(
    sa.select(memories.c.id, memories.c.version).where(CHOSEN).order_by(memories.c.id), long=True
)
_TRASHED_IDS: Final = Statement(
    sa.select(trash.c.id).where(_IN_TRASH).order_by(trash.c.id), long=True
)
_BY_IDS: Final = Statement(sa.select(trash).where(_IN_TRASH).order_by(trash.c.id))
_MOVE: Final = tuple(
    Statement(statement, long=True)
    for statement in (
        _recording(memories, memories.c.version + 1, DELETED, CHOSEN),
        _move_statements(),
        sa.delete(trash_imports).where(_IMPORTED_AGAIN),
        _moving(imports, trash_imports, _IMPORTED, _OF_IMPORTS),
        sa.delete(analyses).where(InIdList(analyses.c.memory_id, IDS)),
        sa.update(feed).where(*_FEED).values(row=sa.null()),
        sa.delete(memories).where(CHOSEN),
    )
)
_RESTORE: Final = tuple(
    Statement(statement, long=True)
    for statement in (
        _moving(trash, memories, _COLUMNS, _IN_TRASH),
        _moving(trash_imports, imports, _IMPORTED, _OF_TRASHED, ~_REIMPORTED),
        sa.delete(trash_imports).where(_OF_TRASHED),
        sa.delete(trash).where(_IN_TRASH),
        _recording(memories, memories.c.version, RESTORED, CHOSEN),
    )
)
_PURGE: Final = tuple(
    Statement(statement, long=True)
    for statement in (
        sa.update(history)
        .where(InIdList(history.c.memory_id, IDS))
        .values(before=sa.null(), after=sa.null(), reason=""),
        _recording(trash, trash.c.version + 1, PURGED, _IN_TRASH),
        sa.delete(trash_imports).where(_OF_TRASHED),
        sa.delete(verifications).where(InIdList(verifications.c.memory_id, IDS)),
        sa.delete(memory_checks).where(InIdList(memory_checks.c.memory_id, IDS)),
        sa.delete(memory_periods).where(InIdList(memory_periods.c.memory_id, IDS)),
        sa.delete(trash).where(_IN_TRASH),
    )
)
