"""The journal of operator acts, with the act that undid each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.errors import Conflict
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER
from lamplighter.repository.store.statements import Page, Statement, newest_first, prepare_insert
from lamplighter.repository.store.tables import acts, history, links, reader

UNDO: Final = "undo"
OPERATOR: Final = "operator"

_ABOUT: Final = ("actor", "value", "undoes", "memory_id", "review_id", "service", "subject")
_INSERT: Final = prepare_insert(acts, "action", "created_at", *_ABOUT, returning=acts.c.id)
_CHANGES_OF_ACT: Final = Statement(
    sa.select(history.c.id, history.c.memory_id, history.c.cause)
    .where(history.c.act_id == sa.bindparam("act", type_=NUMBER))
    .order_by(history.c.id),
    long=True,
)
_FINISH: Final = Statement(
    sa.update(acts)
    .where(acts.c.id == sa.bindparam("act", type_=NUMBER))
    .values(
        changed=sa.bindparam("count", type_=NUMBER),
        memory_id=sa.func.coalesce(sa.bindparam("memory", type_=NUMBER), acts.c.memory_id),
    )
)
_UNDO_OF: Final = Statement(
    sa.select(sa.func.max(acts.c.id)).where(acts.c.undoes == sa.bindparam("act", type_=NUMBER))
)
UNDONE_MEANWHILE: Final = "Act {} was undone while it was running. It stopped there."
_LATER: Final = history.alias("later")
_STEP: Final = history.alias("step")


def is_in_effect(later: Any) -> sa.ColumnElement[bool]:
    """Whether a change of a memory is in effect: neither an undo nor undone itself."""
    act, again, undone = acts.alias("act"), acts.alias("again"), history.alias("undone")
    is_undo = sa.exists().where(act.c.id == later.c.act_id, act.c.action == UNDO)
    was_undone = (
        sa.exists()
        .where(again.c.undoes == later.c.act_id)
        .where(undone.c.memory_id == later.c.memory_id, undone.c.act_id == again.c.id)
    )
    return sa.or_(later.c.act_id.is_(None), sa.and_(~is_undo, ~was_undone))


_CHANGED_SINCE: Final = Statement(
    sa.select(_STEP.c.memory_id, sa.func.max(_LATER.c.id).label("entry"))
    .join(_LATER, (_LATER.c.memory_id == _STEP.c.memory_id) & (_LATER.c.id > _STEP.c.id))
    .where(_STEP.c.act_id == sa.bindparam("act", type_=NUMBER))
    .where(_LATER.c.act_id.is_distinct_from(_STEP.c.act_id), is_in_effect(_LATER))
    .group_by(_STEP.c.memory_id),
    long=True,
)


@dataclass(slots=True)
class ActChanges:
    """The changes of one memory by an act: the first entry, and the first and last cause."""

    memory_id: int
    first: int
    began: str
    ended: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One act of an operator.

    `undoes` is the act that this act undid. `changed` is the number of changed rows, None while the
    act is running or if its process ended first. `subject` names the subject of an act that cannot
    be undone.
    """

    id: int
    action: str
    actor: str
    created_at: datetime
    value: float | None = None
    memory_id: int | None = None
    review_id: int | None = None
    service: str | None = None
    changed: int | None = None
    undoes: int | None = None
    undone_by: int | None = None
    subject: str | None = None


async def insert(db: Database, action: str, *, now: datetime, **about: Any) -> int:
    """Record an act and return its ID; call it within `writing`, before the act's changes.

    `about` holds further columns: actor, value, undoes, memory_id, review_id, service, subject.
    """
    given = {**dict.fromkeys(_ABOUT), "actor": OPERATOR, **about}
    return int(await db.fetch_val(_INSERT(action=action, created_at=now, **given)))


async def finish(db: Database, act_id: int, changed: int, *, memory_id: int | None = None) -> None:
    """Complete an act: record the number of changed rows, and the memory that it concerns."""
    await db.execute(_FINISH(act=act_id, count=changed, memory=memory_id))


async def withdraw(db: Database, act_id: int) -> None:
    """Remove an act that changed nothing."""
    await db.execute(sa.delete(acts).where(acts.c.id == act_id))


async def expect_not_undone(db: Database, act_id: int) -> None:
    """Raise Conflict if an act in progress was undone; call it within each of its transactions."""
    if await db.fetch_val(_UNDO_OF(act=act_id)) is not None:
        raise Conflict(UNDONE_MEANWHILE.format(act_id))


async def get(db: Database, act_id: int) -> JournalEntry | None:
    """Return one act, with the act that undid it."""
    return await db.fetch_first(_query().where(acts.c.id == act_id), _entry)


async def page(
    db: Database, *, limit: int, position: Sequence[Any] | None = None, action: str | None = None
) -> Page[JournalEntry]:
    """Return one page of the journal, newest first, optionally of one action only."""
    query = _query() if action is None else _query().where(acts.c.action == action)
    return await newest_first(db, query, acts.c.id, _entry, limit=limit, position=position)


async def later(db: Database, act: JournalEntry, subject: str) -> list[JournalEntry]:
    """Return later acts of the same action, not undone, whose subject starts with `subject`."""
    query = (
        _query()
        .where(acts.c.id > act.id, acts.c.action == act.action)
        .where(acts.c.subject.startswith(subject, autoescape=True))
        .order_by(acts.c.id)
    )
    found = [_entry(row) for row in await db.fetch_all(query)]
    return [each for each in found if each.undone_by is None]


async def resolution(db: Database, review_id: int) -> JournalEntry | None:
    """Return the newest act that resolved a review."""
    query = _query().where(acts.c.review_id == review_id, acts.c.action != UNDO)
    return await db.fetch_first(query.order_by(acts.c.id.desc()).limit(1), _entry)


async def changes_of_act(db: Database, act_id: int) -> list[ActChanges]:
    """Return the changes of each memory by an act, ordered by memory ID."""
    found: dict[int, ActChanges] = {}
    for row in await db.fetch_all(_CHANGES_OF_ACT(act=act_id)):
        number, cause = row["memory_id"], row["cause"]
        held = found.setdefault(number, ActChanges(number, row["id"], cause, cause))
        held.ended = cause
    return [found[number] for number in sorted(found)]


async def count_memories(db: Database, act_id: int) -> int:
    """Return the number of memories that an act changed, also if its process ended first."""
    count = sa.func.count(history.c.memory_id.distinct())
    return int(await db.fetch_val(sa.select(count).where(history.c.act_id == act_id)))


async def memories_undone(db: Database, act_id: int) -> set[int]:
    """Return the memories in which an act is undone already."""
    undoing = sa.select(acts.c.id).where(acts.c.undoes == act_id)
    query = sa.select(history.c.memory_id).where(history.c.act_id.in_(undoing))
    return {row["memory_id"] for row in await db.fetch_all(query)}


async def changed_since(db: Database, act_id: int) -> dict[int, int]:
    """Return the memories that changed after an act, each with its newest change in effect."""
    return {
        row["memory_id"]: row["entry"] for row in await db.fetch_all(_CHANGED_SINCE(act=act_id))
    }


async def unlink(db: Database, act_id: int) -> None:
    """Remove the links that an act created."""
    await db.execute(sa.delete(links).where(links.c.act_id == act_id))


def _query() -> Any:
    again = acts.alias("again")
    undone = sa.select(sa.func.max(again.c.id)).where(
        again.c.undoes == acts.c.id, again.c.changed.is_not(None)
    )
    return sa.select(acts, undone.scalar_subquery().label("undone_by"))


_entry: Final = reader(JournalEntry)
