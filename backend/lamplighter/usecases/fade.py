"""Fade: at the start of every tier session, what nobody confirmed loses confidence."""

import logging
from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.decay import GRACE, WEEK, faded
from lamplighter.domain.memory import Memory
from lamplighter.repository import Database, history, memories, sessions, writing

logger = logging.getLogger(__name__)


async def fade(db: Database, *, now: datetime) -> list[Memory]:
    """Take what is due from every memory and return those that faded.

    Held back when `now` is before a time already seen: a clock that was wrong
    must not cost a belief.
    """
    async with writing(db):
        if now < max(await memories.newest(db) or now, await sessions.newest(db) or now):
            logger.warning("The clock is behind what was already seen; nothing fades.")
            return []
        stale = await memories.unconfirmed_since(db, now - GRACE - WEEK)
        weaker = await apply_due(db, stale, now=now)
        return [after for before, after in zip(stale, weaker, strict=True) if after is not before]


async def apply_due(db: Database, held: Sequence[Memory], *, now: datetime) -> list[Memory]:
    """Return memories as they are when what is due is taken, and keep that."""
    found: list[Memory] = []
    for memory in held:
        weaker = faded(memory, now=now)
        if weaker is not memory:
            await memories.update(db, weaker, now=now)
            weeks = weaker.decayed_weeks - memory.decayed_weeks
            reason = f"not confirmed for {weeks} more week{'s' if weeks > 1 else ''}"
            why = history.Why(cause="faded", actor="supervisor", reason=reason)
            await history.append(db, memory, weaker, why, now=now)
        found.append(weaker)
    return found
