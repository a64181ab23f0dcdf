"""Fading at the start of every tier session (SPEC-0015); expiry before each round."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from lamplighter.domain.memory.decay import Lifetimes, decay_changes
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import fading, history, memories
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables
from lamplighter.repository.upkeep.batches import in_batches
from lamplighter.repository.writes import store

ONE_BY_ONE: Final = 10
SESSION_SECONDS: Final = 0.5
"""How long the start of a session fades its own memories if too many are due."""

logger = logging.getLogger(__name__)


async def fade(db: Database, *, now: datetime) -> int:
    """Apply the decay due to every memory and return how many faded.

    Runs in batches, each in its own short transaction: if a process ends between two of them, the
    rest follows at the next session, and other writers wait only briefly. Skipped if `now` is
    before a time at which Lamplighter wrote: a wrong clock must not cost a belief. Times in rows
    written by other means are ignored.
    """
    return 0 if await _is_clock_behind(db, now) else await fade_due(db, now=now)


async def fade_for_session(
    db: Database, considered: Callable[[], Awaitable[Sequence[int]]], *, now: datetime
) -> None:
    """Fade before a session: all due memories, or only those that the session considers if many.

    Memories that are then considered instead fade too, for `SESSION_SECONDS`. All others fade while
    the session runs.
    """
    if await _is_clock_behind(db, now):
        return
    due = await fading.find_due(db, now=now, some=True)
    if not due.too_large:
        await _fade_found(db, due, now=now)
        return
    deadline = time.monotonic() + SESSION_SECONDS
    while time.monotonic() < deadline:
        mine = tables.memories.c.id.in_(await considered())
        if not await fade_due(db, mine, now=now):
            return


async def expire(db: Database, lifetimes: Lifetimes, *, now: datetime) -> int:
    """Deactivate expired memories and return how many.

    Knowledge expires at its own time, a kind with a lifetime that long after the last change.
    Expired memories stay in the list and in the history, and a person can activate them.
    """
    if await _is_clock_behind(db, now):
        return 0
    over = await fading.find_expired(db, lifetimes, now=now)
    expire_some = partial(fading.expire, db, lifetimes=lifetimes, now=now)
    return len(await in_batches(db, over, expire_some))


async def _is_clock_behind(db: Database, now: datetime) -> bool:
    async with reading(db):
        seen = await history.newest_at(db), await sessions.newest(db)
    behind = now < max((each for each in seen if each is not None), default=now)
    if behind:
        logger.warning("The clock is behind the newest row; memories do not decay now.")
    return behind


async def fade_due(db: Database, *where: Any, now: datetime, act_id: int | None = None) -> int:
    """Apply the decay due to the memories that match `where`; return how many faded.

    Before an act of an operator it is part of that act, and undone with it.
    """
    waiting = await fading.find_due(db, *where, now=now)
    return await _fade_found(db, waiting, now=now, act_id=act_id)


async def _fade_found(
    db: Database, waiting: fading.DueMemories, *, now: datetime, act_id: int | None = None
) -> int:
    count = 0
    for weeks, ids in waiting.by_weeks.items():
        fade_some = partial(fading.fade, db, weeks=weeks, now=now, act_id=act_id)
        count += len(await in_batches(db, ids, fade_some))

    async def take_each(some: Sequence[int]) -> list[int]:
        held = await memories.list_by_ids(db, some)
        left = [each for each in held if each.confidence > 0]
        changes = decay_changes(left, now=now, act_id=act_id)
        await store(db, changes, now=now)
        return [each.before.id for each in changes if each.before is not None]

    odd = await in_batches(db, waiting.odd, take_each, first=ONE_BY_ONE)
    return count + len(odd)
