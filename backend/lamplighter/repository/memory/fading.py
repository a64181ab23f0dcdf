"""Fading and expiry of many rows: the rules of `domain.memory.decay`, in SQL."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.memory.decay import Lifetimes
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    GRACE_PERIOD,
    OPERATIONAL,
    WEEK,
    WEEKLY_DECAY,
    InactiveReason,
    MemoryKind,
)
from lamplighter.repository.memory.bulk import (
    ODD,
    STAMP,
    BulkHistory,
    bind,
    canonical,
    fetch_ids_by_key,
    prepare_change,
    rounded,
    select_ids_by_key,
)
from lamplighter.repository.memory.memories import unverified_semantic
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, Seconds, stamp
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import memories

_ODD_KEY: Final = -1
_COLUMNS: Final = memories.c
_OPERATIONAL: Final = _COLUMNS.category.concat("").in_(OPERATIONAL)  # prevents use of its index
_FADES: Final = _OPERATIONAL | unverified_semantic(_COLUMNS)
_CAN_FADE: Final = (_FADES, _COLUMNS.pinned == 0, _COLUMNS.confidence > 0)
_AFTER, _UNTIL = bind("after", sa.Text), bind("until", sa.Text)
_WEEKS: Final = bind("weeks", NUMBER)
_WEEKS_DUE: Final = _WEEKS - _COLUMNS.decayed_weeks


def _weeks_past() -> Any:
    """Return the whole weeks that a row has been fading, exact to the fraction of a second."""
    begun = sa.case((sa.func.substr(STAMP, 20) > bind("fraction", sa.Text), 1), else_=0)
    graced = bind("seconds", NUMBER) - Seconds(STAMP) - begun - int(GRACE_PERIOD.total_seconds())
    return graced // int(WEEK.total_seconds())


def _select_due(*where: Any, limit: int | None = None) -> sa.Select[Any]:
    weeks = _weeks_past()
    due = (STAMP <= _UNTIL) & (weeks > _COLUMNS.decayed_weeks)
    key = sa.case((ODD, _ODD_KEY), else_=weeks)
    return select_ids_by_key(key, *_CAN_FADE, ODD | due, *where, limit=limit)


def _faded() -> dict[str, Any]:
    lower = rounded(_COLUMNS.confidence - WEEKLY_DECAY * _WEEKS_DUE)
    reason = _COLUMNS.inactive_reason
    falls = (_COLUMNS.active == 1) & (lower < ACTIVE_THRESHOLD)
    stays = (_COLUMNS.active == 1) & reason.in_([InactiveReason.LOW, InactiveReason.OPERATOR])
    return {
        "confidence": lower,
        "active": sa.case((falls, 0), else_=_COLUMNS.active),
        "inactive_reason": sa.case(
            (falls, sa.func.coalesce(reason, InactiveReason.LOW)), (stays, sa.null()), else_=reason
        ),
        "decayed_weeks": _WEEKS,
    }


def _reason() -> Any:
    weeks = (
        sa.literal("not confirmed for ").concat(sa.cast(_WEEKS_DUE, sa.Text)).concat(" more week")
    )
    return weeks.concat(sa.case((_WEEKS_DUE > 1, "s"), else_=""))


AT_ONCE: Final = 2_000
_ALL: Final = Statement(_select_due(), long=True)
_SOME: Final = Statement(_select_due(limit=AT_ONCE + 1), long=True)
_FADE: Final = prepare_change(
    (*_CAN_FADE, STAMP <= _UNTIL, STAMP > _AFTER, _WEEKS_DUE > 0),
    _faded(),
    BulkHistory(cause="faded", actor="supervisor", reason=_reason(), act=bind("act", NUMBER)),
    switches=(_COLUMNS.confidence - WEEKLY_DECAY * _WEEKS_DUE < ACTIVE_THRESHOLD + 0.01)
    | _COLUMNS.inactive_reason.is_not(None),
)


@dataclass(frozen=True, slots=True)
class DueMemories:
    """Memories that are due to fade: by the number of past weeks, and those to be read first."""

    by_weeks: dict[int, list[int]]
    odd: list[int]

    @property
    def too_large(self) -> bool:
        """Whether more memories are due than a session waits for."""
        return len(self.odd) + sum(map(len, self.by_weeks.values())) > AT_ONCE


async def find_due(db: Database, *where: Any, now: datetime, some: bool = False) -> DueMemories:
    """Return the memories that are due to fade and match `where`, or `some` of them."""
    every = _SOME if some else _ALL
    statement = Statement(_select_due(*where), long=True) if where else every
    lists = await fetch_ids_by_key(
        db,
        statement(
            until=stamp(now - GRACE_PERIOD - WEEK),
            fraction=stamp(now)[19:],
            seconds=int(now.timestamp()),
        ),
    )
    odd = lists.pop(_ODD_KEY, [])
    return DueMemories(lists, odd)


async def fade(
    db: Database, ids: Sequence[int], weeks: int, *, now: datetime, act_id: int | None = None
) -> list[int]:
    """Fade those of `ids` that are past so many weeks, and return their IDs."""
    until = now - GRACE_PERIOD - weeks * WEEK
    values = {"weeks": weeks, "until": stamp(until), "after": stamp(until - WEEK), "act": act_id}
    return await _FADE.do(db, ids, now=now, **values)


_EXPIRES: Final = canonical(_COLUMNS.expires_at)
_OLD: Final = sa.or_(
    *((_COLUMNS.kind == each.value) & (bind(each.value, sa.Text) >= STAMP) for each in MemoryKind)
)
_CAN_EXPIRE: Final = (_COLUMNS.active == 1, _COLUMNS.pinned == 0, sa.not_(_OPERATIONAL))
_IS_OVER: Final = (bind("now_text", sa.Text) >= _EXPIRES) | (_COLUMNS.expires_at.is_(None) & _OLD)
_EXPIRED: Final = Statement(
    sa.select(_COLUMNS.id).where(*_CAN_EXPIRE, _IS_OVER).order_by(_COLUMNS.id), long=True
)
_EXPIRE: Final = prepare_change(
    (*_CAN_EXPIRE, _IS_OVER),
    {"active": sa.literal(0, NUMBER), "inactive_reason": sa.literal("expired", sa.Text)},
    BulkHistory(cause="expired", actor="supervisor"),
)


async def find_expired(db: Database, lifetimes: Lifetimes, *, now: datetime) -> list[int]:
    """Return the expired active memories.

    The own expiry of a memory wins over the lifetime of its kind, which counts from the last
    change. Operational memories fade instead (SPEC-0015), pinned ones do not expire.
    """
    rows = await db.fetch_all(_EXPIRED(**_over(lifetimes, now)))
    return [row["id"] for row in rows]


async def expire(
    db: Database, ids: Sequence[int], lifetimes: Lifetimes, *, now: datetime
) -> list[int]:
    """Deactivate the expired memories among `ids`, and return their IDs."""
    return await _EXPIRE.do(db, ids, now=now, **_over(lifetimes, now))


def _over(lifetimes: Lifetimes, now: datetime) -> dict[str, str]:
    """Return the moments to compare with; a limit before the year 1 expires nothing."""
    until = dict.fromkeys(MemoryKind, "")
    for kind, lifetime in lifetimes.items():
        with suppress(OverflowError):
            until[kind] = stamp(now - lifetime)
    return {"now_text": stamp(now), **{kind.value: text for kind, text in until.items()}}
