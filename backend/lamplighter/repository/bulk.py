"""Acts of an operator on many memories: each row as if it were changed alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import Op
from lamplighter.domain.memory import ACTIVE_THRESHOLD, InactiveReason, clamp
from lamplighter.repository import marks, reviews
from lamplighter.repository.columns import NUMBER
from lamplighter.repository.database import Database
from lamplighter.repository.history import Why, forget_quotes
from lamplighter.repository.many import (
    CHOSEN,
    IDS,
    NOW,
    ODD,
    Act,
    Entry,
    Survey,
    act,
    found,
    given,
    listing,
    numbers,
    recording,
    rounded,
    tell,
    with_confidence,
)
from lamplighter.repository.memories import ENTITY, Filter, conditions
from lamplighter.repository.prepared import Statement
from lamplighter.repository.tables import (
    CONFIDENCE,
    analyses,
    bulks,
    history,
    memories,
)
from lamplighter.repository.tables import changes as feed
from lamplighter.repository.words import OneOf, Picked

OPERATOR: Final = "operator"
DELETE: Final = "delete"

_HELD: Final = memories.c
_BULK: Final = given("bulk", NUMBER)
_UNDOES: Final = given("undoes", NUMBER)
_VALUE: Final = given("value", CONFIDENCE)
_ADJUSTED: Final = rounded(_HELD.confidence + _VALUE)
_WORDS: Final = given("reason", sa.Text)
_BY_OPERATOR: Final = Entry(cause="edited", actor=OPERATOR, reason=_WORDS, bulk=_BULK)
_CONFIRMED: Final = {"updated_at": NOW, "decayed_weeks": sa.literal(0, NUMBER)}
_OFF: Final = {
    "active": sa.literal(0, NUMBER),
    "inactive_reason": sa.literal(InactiveReason.OPERATOR, sa.Text),
}
_ON: Final = {"active": sa.literal(1, NUMBER), "inactive_reason": sa.null()}

ACTS: Final[dict[str, Act]] = {
    "confidence": act((), {**with_confidence(_VALUE), **_CONFIRMED}, _BY_OPERATOR),
    "adjust": act(
        (_HELD.confidence != _ADJUSTED,),
        {**with_confidence(_ADJUSTED), **_CONFIRMED},
        _BY_OPERATOR,
    ),
    "deactivate": act((_HELD.active == 1,), _OFF, _BY_OPERATOR),
    "activate": act((_HELD.active == 0, _HELD.confidence >= ACTIVE_THRESHOLD), _ON, _BY_OPERATOR),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """One act on many memories; `undoes` is the one that it took back."""

    id: int
    action: str
    value: float | None
    undoes: int | None
    created_at: datetime


async def insert(
    db: Database,
    action: str,
    *,
    value: float | None = None,
    undoes: int | None = None,
    now: datetime,
) -> int:
    """Keep that there was such an act, and return its number."""
    statement = (
        sa.insert(bulks)
        .values(action=action, value=value, undoes=undoes, created_at=now)
        .returning(bulks.c.id)
    )
    return int(await db.fetch_val(statement))


async def get(db: Database, bulk_id: int) -> Bulk | None:
    """Return one act on many memories."""
    row = await db.fetch_one(sa.select(bulks).where(bulks.c.id == bulk_id))
    return None if row is None else Bulk(**{name: row[name] for name in row})


async def matching(db: Database, *where: Any) -> tuple[list[int], list[int]]:
    """Return the memories that `where` is true of: the plain ones, then the odd."""
    lists = await found(db, listing(sa.case((ODD, 1), else_=0), *where))
    return lists.get(0, []), lists.get(1, [])


def among(ids: Sequence[int]) -> Any:
    """Return what is true of the memories with these numbers."""
    return OneOf(_HELD.id, sa.literal(numbers(ids), sa.Text))


async def change(
    db: Database, ids: Sequence[int], action: str, value: float, *, bulk: int, now: datetime
) -> list[int]:
    """Do to each of these what an act does, where it changes something; return those."""
    value, reason = _taken(action, value), why(bulk).reason
    return await ACTS[action].do(db, ids, value=value, bulk=bulk, reason=reason, now=now)


async def foresee(db: Database, ids: Sequence[int], action: str, value: float) -> Survey:
    """Return what `change` would do to these."""
    return await ACTS[action].foresee(db, ids, value=_taken(action, value))


def _taken(action: str, value: float) -> float:
    return clamp(value) if action == "confidence" else round(value, 2)


def why(bulk: int) -> Why:
    """Return what the history says of one row of an act on many."""
    return Why(cause="edited", actor=OPERATOR, reason=f"part of bulk {bulk}", bulk_id=bulk)


async def refused(db: Database, ids: Sequence[int]) -> int:
    """Return how many of these are too low to be switched on."""
    return int(await db.fetch_val(_TOO_LOW(ids=numbers(ids))))


def those(chosen: Sequence[int] | Filter) -> list[Any]:
    """Return what is true of the memories that were chosen."""
    return conditions(chosen, _HELD) if isinstance(chosen, Filter) else [among(chosen)]


async def remove(db: Database, ids: Sequence[int], *, bulk: int | None, now: datetime) -> list[int]:
    """Remove memories for good, with their words everywhere but in what sessions were told."""
    values = {"ids": numbers(ids), "bulk": bulk, "now": now}
    rows = await db.fetch_all(_THERE(**values))
    there = [row["id"] for row in rows]
    values["ids"] = numbers(there)
    for statement in _REMOVAL:
        await db.execute(statement(**values))
    await tell(db, there, Op.DELETED, now=now)
    await forget_quotes(db, there)
    await marks.forget(db, there)
    await reviews.forget(db, there, now=now)
    return there


async def steps(db: Database, bulk_id: int) -> list[int]:
    """Return the history entries that an act made."""
    rows = await db.fetch_all(_STEPS(undoes=bulk_id))
    return sorted(map(int, rows[0]["ids"].split(","))) if rows[0]["ids"] else []


async def undo(
    db: Database, entries: Sequence[int], *, bulk: int, reason: str, now: datetime
) -> list[int]:
    """Put back what these history entries changed, where nothing has changed since."""
    return await _UNDO.do(db, entries, bulk=bulk, reason=reason, now=now)


def _before(name: str, kind: Any, *, flag: bool = False) -> Any:
    return Picked(history.c.before, name, kind, flag=flag)


_UNDO: Final = act(
    (history.c.version == _HELD.version, history.c.before.is_not(None)),
    {
        "confidence": _before("confidence", CONFIDENCE),
        "active": _before("active", NUMBER, flag=True),
        "inactive_reason": _before("inactive_reason", sa.Text),
        "updated_at": _before("updated_at", sa.Text),
        "decayed_weeks": _before("decayed_weeks", NUMBER),
    },
    Entry(cause="undone", actor=OPERATOR, reason=_WORDS, bulk=_BULK),
    chosen=(OneOf(history.c.id, IDS), history.c.memory_id == _HELD.id),
)
_TOO_LOW: Final = Statement(
    sa.select(sa.func.count())
    .select_from(memories)
    .where(CHOSEN, _HELD.active == 0, _HELD.confidence < ACTIVE_THRESHOLD),
    long=True,
)
_THERE: Final = Statement(sa.select(_HELD.id).where(CHOSEN).order_by(_HELD.id), long=True)
_STEPS: Final = Statement(
    sa.select(sa.func.aggregate_strings(sa.cast(history.c.id, sa.Text), ",").label("ids")).where(
        history.c.bulk_id == _UNDOES
    ),
    long=True,
)
_REMOVAL: Final = tuple(
    Statement(statement, long=True)
    for statement in (
        sa.update(history)
        .where(OneOf(history.c.memory_id, IDS))
        .values(before=sa.null(), after=sa.null(), reason=""),
        recording(Entry(cause="deleted", actor=OPERATOR, bulk=_BULK), (CHOSEN,), None),
        sa.delete(analyses).where(OneOf(analyses.c.memory_id, IDS)),
        sa.update(feed)
        .where(feed.c.entity == ENTITY, OneOf(feed.c.entity_id, IDS), feed.c.row.is_not(None))
        .values(row=sa.null()),
        sa.delete(memories).where(CHOSEN),
    )
)
