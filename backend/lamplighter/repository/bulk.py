"""Acts of an operator on many memories: each row as if it were changed alone."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory import ACTIVE_THRESHOLD, InactiveReason, clamp
from lamplighter.repository.columns import NUMBER
from lamplighter.repository.database import Database
from lamplighter.repository.history import Why
from lamplighter.repository.journal import stands
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
    rounded,
    with_confidence,
)
from lamplighter.repository.memories import Filter, conditions
from lamplighter.repository.prepared import Statement
from lamplighter.repository.tables import CONFIDENCE, history, memories
from lamplighter.repository.words import OneOf, Picked

OPERATOR: Final = "operator"

_HELD: Final = memories.c
_ACT: Final = given("act", NUMBER)
_UNDOES: Final = given("undoes", NUMBER)
_VALUE: Final = given("value", CONFIDENCE)
_ADJUSTED: Final = rounded(_HELD.confidence + _VALUE)
_WORDS: Final = given("reason", sa.Text)
_BY_OPERATOR: Final = Entry(cause="edited", actor=OPERATOR, reason=_WORDS, act=_ACT)
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


async def matching(db: Database, *where: Any) -> tuple[list[int], list[int]]:
    """Return the memories that `where` is true of: the plain ones, then the odd."""
    lists = await found(db, listing(sa.case((ODD, 1), else_=0), *where))
    return lists.get(0, []), lists.get(1, [])


def among(ids: Sequence[int]) -> Any:
    """Return what is true of the memories with these numbers."""
    return OneOf(_HELD.id, sa.literal(numbers(ids), sa.Text))


async def change(
    db: Database, ids: Sequence[int], action: str, value: float, *, act: int, now: datetime
) -> list[int]:
    """Do to each of these what an act does, where it changes something; return those."""
    value, reason = _taken(action, value), why(act).reason
    return await ACTS[action].do(db, ids, value=value, act=act, reason=reason, now=now)


async def foresee(db: Database, ids: Sequence[int], action: str, value: float) -> Survey:
    """Return what `change` would do to these."""
    return await ACTS[action].foresee(db, ids, value=_taken(action, value))


def _taken(action: str, value: float) -> float:
    return clamp(value) if action == "confidence" else round(value, 2)


def why(number: int) -> Why:
    """Return what the history says of one row of an act on many."""
    return Why(cause="edited", actor=OPERATOR, reason=f"part of bulk {number}", act_id=number)


async def refused(db: Database, ids: Sequence[int]) -> int:
    """Return how many of these are too low to be switched on."""
    return int(await db.fetch_val(_TOO_LOW(ids=numbers(ids))))


def those(chosen: Sequence[int] | Filter) -> list[Any]:
    """Return what is true of the memories that were chosen."""
    return conditions(chosen, _HELD) if isinstance(chosen, Filter) else [among(chosen)]


async def undo(
    db: Database, entries: Sequence[int], *, undoes: int, act: int, reason: str, now: datetime
) -> list[int]:
    """Put back what an act changed, where nothing has changed since.

    `entries` are its first change of each memory.
    """
    return await _UNDO.do(db, entries, undoes=undoes, act=act, reason=reason, now=now)


def _before(name: str, kind: Any, *, flag: bool = False) -> Any:
    return Picked(history.c.before, name, kind, flag=flag)


_PAST: Final = history.alias("past")
_SINCE: Final = (
    sa.exists()
    .where(_PAST.c.memory_id == _HELD.id, _PAST.c.id > history.c.id, stands(_PAST))
    .where(_PAST.c.act_id.is_distinct_from(_UNDOES))
)
_UNDO: Final = act(
    (~_SINCE, history.c.before.is_not(None)),
    {
        "confidence": _before("confidence", CONFIDENCE),
        "active": _before("active", NUMBER, flag=True),
        "inactive_reason": _before("inactive_reason", sa.Text),
        "updated_at": _before("updated_at", sa.Text),
        "decayed_weeks": _before("decayed_weeks", NUMBER),
    },
    Entry(cause="undone", actor=OPERATOR, reason=_WORDS, act=_ACT),
    chosen=(OneOf(history.c.id, IDS), history.c.memory_id == _HELD.id),
)
_TOO_LOW: Final = Statement(
    sa.select(sa.func.count())
    .select_from(memories)
    .where(CHOSEN, _HELD.active == 0, _HELD.confidence < ACTIVE_THRESHOLD),
    long=True,
)
