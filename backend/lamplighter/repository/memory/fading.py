"""The rule of fading over many rows: what `domain.decay.faded` says, in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.decay import GRACE, WEEK, WEEKLY_DECAY
from lamplighter.domain.memory.memory import ACTIVE_THRESHOLD, OPERATIONAL, InactiveReason
from lamplighter.repository.memory.bulk import (
    ODD,
    STAMP,
    Entry,
    act,
    found,
    given,
    listing,
    rounded,
)
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, Seconds, stamp
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import memories

_ODD_ONES: Final = -1
_HELD: Final = memories.c
_OPERATIONAL: Final = _HELD.category.concat("").in_(OPERATIONAL)  # by its number, not by this
_MAY: Final = (_OPERATIONAL, _HELD.pinned == 0, _HELD.confidence > 0)
_AFTER, _UNTIL = given("after", sa.Text), given("until", sa.Text)
_WEEKS: Final = given("weeks", NUMBER)
_TAKEN: Final = _WEEKS - _HELD.decayed_weeks


def _weeks_past() -> Any:
    """Return how many whole weeks of fading a row has behind it; no part of a second is lost."""
    begun = sa.case((sa.func.substr(STAMP, 20) > given("fraction", sa.Text), 1), else_=0)
    graced = given("seconds", NUMBER) - Seconds(STAMP) - begun - int(GRACE.total_seconds())
    return graced // int(WEEK.total_seconds())


def _waiting(*where: Any) -> sa.Select[Any]:
    weeks = _weeks_past()
    due = (STAMP <= _UNTIL) & (weeks > _HELD.decayed_weeks)
    return listing(sa.case((ODD, _ODD_ONES), else_=weeks), *_MAY, ODD | due, *where)


def _faded() -> dict[str, Any]:
    lower = rounded(_HELD.confidence - WEEKLY_DECAY * _TAKEN)
    held = _HELD.inactive_reason
    falls = (_HELD.active == 1) & (lower < ACTIVE_THRESHOLD)
    stays = (_HELD.active == 1) & held.in_([InactiveReason.LOW, InactiveReason.OPERATOR])
    return {
        "confidence": lower,
        "active": sa.case((falls, 0), else_=_HELD.active),
        "inactive_reason": sa.case(
            (falls, sa.func.coalesce(held, InactiveReason.LOW)), (stays, sa.null()), else_=held
        ),
        "decayed_weeks": _WEEKS,
    }


def _reason() -> Any:
    weeks = sa.literal("not confirmed for ").concat(sa.cast(_TAKEN, sa.Text)).concat(" more week")
    return weeks.concat(sa.case((_TAKEN > 1, "s"), else_=""))


_ALL: Final = Statement(_waiting(), long=True)
_FADE: Final = act(
    (*_MAY, STAMP <= _UNTIL, STAMP > _AFTER, _TAKEN > 0),
    _faded(),
    Entry(cause="faded", actor="supervisor", reason=_reason(), act=given("act", NUMBER)),
    switches=(_HELD.confidence - WEEKLY_DECAY * _TAKEN < ACTIVE_THRESHOLD + 0.01)
    | _HELD.inactive_reason.is_not(None),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Which memories have weeks to lose: by how many weeks are past, and those to be read first."""

    plain: dict[int, list[int]]
    odd: list[int]


async def waiting(db: Database, *where: Any, now: datetime) -> Waiting:
    """Return what has weeks to lose, of the memories that `where` is true of."""
    statement = Statement(_waiting(*where), long=True) if where else _ALL
    lists = await found(
        db,
        statement(
            until=stamp(now - GRACE - WEEK), fraction=stamp(now)[19:], seconds=int(now.timestamp())
        ),
    )
    odd = lists.pop(_ODD_ONES, [])
    return Waiting(lists, odd)


async def fade(
    db: Database, ids: Sequence[int], weeks: int, *, now: datetime, act_id: int | None = None
) -> list[int]:
    """Take what is due from those of `ids` that have so many weeks behind them; return them."""
    until = now - GRACE - weeks * WEEK
    values = {"weeks": weeks, "until": stamp(until), "after": stamp(until - WEEK), "act": act_id}
    return await _FADE.do(db, ids, now=now, **values)
