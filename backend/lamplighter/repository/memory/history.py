"""Every change of a memory: who, when, why, and the previous values. Also the audit log."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.intents import CONTRADICTED as CONTRADICTED
from lamplighter.domain.memory.intents import CONTRADICTS, REPORT_CAUSES, MemoryChange
from lamplighter.domain.memory.intents import REINFORCED as REINFORCED
from lamplighter.domain.memory.intents import ChangeOrigin as ChangeOrigin
from lamplighter.domain.memory.intents import HistoryRecord as HistoryRecord
from lamplighter.domain.memory.memory import HISTORY_FIELDS as HISTORY_FIELDS
from lamplighter.domain.memory.memory import MEMORY_FIELDS, Memory, MemoryId
from lamplighter.domain.memory.memory import RESTORED as RESTORED
from lamplighter.domain.memory.undo import REVIEW, UNDOING
from lamplighter.formats import serialize
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import Json, stamp
from lamplighter.repository.store.statements import (
    Page,
    Rows,
    Statement,
    count_by,
    prepare_insert,
    update_rows,
)
from lamplighter.repository.store.tables import history, links

DELETED: Final = "deleted"
PURGED: Final = "purged"

_INSERT: Final = prepare_insert(
    history,
    *("memory_id", "version", "at", "actor", "session_id", "cause", "reason", "before", "after"),
    *("review_id", "act_id"),
)
_MOVED_BY: Final = Statement(
    sa.select(history.c.memory_id, history.c.cause)
    .where(history.c.session_id == sa.bindparam("session"))
    .where((history.c.cause == REINFORCED) | (history.c.cause == CONTRADICTED))
)


record_as_json: Final = serialize.Writer[HistoryRecord]()
"""A change of a memory as JSON, the same in every interface."""


async def append(
    db: Database, before: Memory | None, now_is: Memory | None, why: ChangeOrigin, *, now: datetime
) -> None:
    """Record a change of a memory: no `before` for a creation, no `now_is` for a deletion."""
    await db.execute(_INSERT(**_record_values(before, now_is, why, now=now)))


async def append_all(db: Database, steps: Sequence[MemoryChange], *, now: datetime) -> None:
    """Record changes of many memories, in the order of the steps."""
    await db.run_many(_INSERT, [_record_values(*each, now=now) for each in steps])


def _record_values(
    before: Memory | None, now_is: Memory | None, why: ChangeOrigin, *, now: datetime
) -> dict[str, Any]:
    memory = now_is or before
    assert memory is not None
    return {
        "memory_id": memory.id,
        "version": memory.version if now_is else memory.version + 1,
        "at": now,
        "actor": why.actor,
        "session_id": why.session_id,
        "cause": why.cause,
        "reason": why.reason,
        "before": state(before),
        "after": state(now_is),
        "review_id": why.review_id,
        "act_id": why.act_id,
    }


async def of_memory(
    db: Database, memory_id: int, *, limit: int, position: Sequence[Any] | None = None
) -> Page[HistoryRecord]:
    """Return the changes of a memory, newest first."""
    return await history_rows.page(
        db, history.c.memory_id == memory_id, limit=limit, position=position
    )


async def newest_at(db: Database) -> datetime | None:
    """Return the time of the latest change of any memory; None without changes."""
    query = sa.select(history.c.at).order_by(history.c.at.desc()).limit(1)
    found: datetime | None = await db.fetch_val(query)
    return found


async def edited_among(db: Database, ids: Sequence[MemoryId]) -> set[MemoryId]:
    """Return those of some memories that a person has edited."""
    query = sa.select(history.c.memory_id).where(history.c.memory_id.in_(ids))
    return {
        MemoryId(row["memory_id"])
        for row in await db.fetch_all(query.where(history.c.cause == "edited").distinct())
    }


async def get(db: Database, memory_id: int, number: int) -> HistoryRecord | None:
    """Return one change of a memory."""
    mine = history.c.memory_id == memory_id
    return await history_rows.one(db, history.c.id == number, mine)


async def changes_after(db: Database, memory_id: int, number: int) -> list[HistoryRecord]:
    """Return the changes of a memory after entry `number`, oldest first."""
    return await history_rows.oldest(db, history.c.memory_id == memory_id, history.c.id > number)


async def last_id(db: Database) -> int:
    """Return the ID of the newest entry; 0 without entries."""
    return await db.fetch_val(sa.select(sa.func.max(history.c.id))) or 0


async def changed_after(db: Database, ids: Sequence[int], number: int) -> set[int]:
    """Return those of some memories that have changed after entry `number`."""
    some = history.c.memory_id.in_(ids), history.c.id > number
    query = sa.select(history.c.memory_id).where(*some)
    return {row["memory_id"] for row in await db.fetch_all(query)}


async def text_before(db: Database, memory_id: int, moment: datetime) -> str | None:
    """Return the text of a memory at a moment; None if the memory has not changed since."""
    changed = (history.c.memory_id == memory_id, history.c.at > moment)
    found = await history_rows.first(db, *changed)
    before = found.before if found else None
    return None if before is None else before.get("observation")


async def undos_after(db: Database, memory_id: int, number: int) -> list[HistoryRecord]:
    """Return the changes of a memory after entry `number` that may have undone others."""
    return await history_rows.oldest(
        db, history.c.memory_id == memory_id, history.c.id > number, history.c.cause.in_(UNDOING)
    )


async def of_review(db: Database, review_id: int) -> list[HistoryRecord]:
    """Return the changes that the resolutions of a review made, oldest first."""
    return await history_rows.oldest(
        db, history.c.review_id == review_id, history.c.cause == REVIEW
    )


async def of_act(db: Database, memory_id: int, act_id: int) -> list[HistoryRecord]:
    """Return the changes of a memory by an operator's act, oldest first."""
    return await history_rows.oldest(
        db, history.c.memory_id == memory_id, history.c.act_id == act_id
    )


async def contradictions_by(
    db: Database, memory_id: int, *, review_id: int, session_id: int | None, at: datetime | None
) -> list[HistoryRecord]:
    """Return the changes by which a memory lost confidence to the other memory of a review.

    Older entries do not name the review: those are identified by session and moment.
    """
    first = (
        history.c.review_id.is_(None)
        & history.c.session_id.is_not_distinct_from(session_id)
        & (history.c.at == at)
    )
    return await history_rows.oldest(
        db,
        history.c.memory_id == memory_id,
        history.c.cause == CONTRADICTED,
        (history.c.review_id == review_id) | first,
    )


async def reports_of(db: Database, memory_id: int, *, limit: int) -> list[HistoryRecord]:
    """Return the changes by observations of a memory, oldest first."""
    return await history_rows.oldest(
        db, history.c.memory_id == memory_id, history.c.cause.in_(REPORT_CAUSES), limit=limit
    )


async def count_contradictions(db: Database, sessions: Sequence[int]) -> dict[int, int]:
    """Return the number of contradictions by each of these sessions, without those with none."""
    made = (history.c.session_id.in_(sessions), history.c.cause == CONTRADICTED)
    return await count_by(db, history.c.session_id, *made) if sessions else {}


async def changed_by_session(db: Database, session_id: int) -> tuple[set[MemoryId], set[MemoryId]]:
    """Return the memories that a session has reinforced and contradicted so far."""
    found: dict[str, set[MemoryId]] = {REINFORCED: set(), CONTRADICTED: set()}
    for row in await db.fetch_all(_MOVED_BY(session=session_id)):
        found[row["cause"]].add(MemoryId(row["memory_id"]))
    return found[REINFORCED], found[CONTRADICTED]


async def blank_quotes(db: Database, ids: Sequence[MemoryId]) -> None:
    """Blank quotes of permanently deleted memories in the histories of other memories.

    A quote is the reason of a contradiction by a deleted memory, and names its ID.
    """
    by_them = (links.c.memory_id.in_(ids), links.c.what == CONTRADICTS)
    names = sa.literal("memory ").concat(sa.cast(links.c.memory_id, sa.Text)).concat(" %")
    quotes = sa.exists().where(
        *by_them, links.c.target_id == history.c.memory_id, history.c.reason.like(names)
    )
    await update_rows(
        db,
        history,
        history.c.memory_id.in_(sa.select(links.c.target_id).where(*by_them)),
        history.c.cause == CONTRADICTED,
        quotes,
        reason="",
    )


def state(memory: Memory | None) -> dict[str, Any] | None:
    """Return the state of a memory for a history entry: all fields that a change can affect."""
    if memory is None:
        return None
    return {name: _recorded(getattr(memory, name)) for name in HISTORY_FIELDS}


def _recorded(value: Any) -> Any:
    if isinstance(value, datetime):
        return stamp(value)
    return Json.written(value) if isinstance(value, (tuple, dict)) else value  # as in its column


def _entry(row: Any) -> HistoryRecord:
    fields = {name: row[name] for name in row}
    for side in ("before", "after"):
        fields[side] = _read_state(fields[side])
    return HistoryRecord(**fields)


history_rows: Final = Rows(history, _entry)


def _read_state(state: dict[str, Any] | None) -> dict[str, Any] | None:
    if state is None:
        return state
    written = {name: kind for name, kind in _WRITTEN.items() if name in state}
    return {**state, **{name: _read(state[name], kind) for name, kind in written.items()}}


_WRITTEN: Final = {
    name: list if each.value_type is tuple else dict
    for name, each in MEMORY_FIELDS.items()
    if each.value_type in (tuple, dict)
}
"""The fields that an entry stores as the JSON text of their column."""


def _read(text: str, kind: type[Any]) -> Any:
    """Read a list or an object of a history entry; invalid JSON results in an empty value."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return kind()
    return found if isinstance(found, kind) else kind()
