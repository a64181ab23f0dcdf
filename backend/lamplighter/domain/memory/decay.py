"""Decay of memories that are not confirmed (SPEC-0015, Staleness Decay)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.memory.intents import ChangeOrigin, MemoryChange
from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    GRACE_PERIOD,
    OPERATIONAL,
    WEEK,
    WEEKLY_DECAY,
    Memory,
    MemoryKind,
    Trust,
    clamp,
    with_confidence,
)

Lifetimes = Mapping[MemoryKind, timedelta]
"""The lifetime of knowledge by kind, counted from the last change; other kinds do not expire."""

EPISODE_LIFETIME: Final = timedelta(days=30)
LIFETIMES: Final[Lifetimes] = {MemoryKind.EPISODIC: EPISODE_LIFETIME}
"""The default lifetimes (four-tier-memory-schema); settings override them."""

MAX_DECAY_WEEKS: Final = 10  # no confidence is left after this many weeks


def apply_decay(memory: Memory, *, now: datetime) -> Memory:
    """Subtract 0.1 for each whole week past 30 days without confirmation, once for each week.

    Subtracted weeks are recorded; repeated calls change nothing. Applies to memories for which
    `fades` is true, active or not. Decay does not change `updated_at` and reactivates nothing.
    """
    due = weeks_due(memory, now=now)
    if due <= 0 or not fades(memory):
        return memory
    lower = memory.confidence - WEEKLY_DECAY * due
    weaker = replace(memory, confidence=clamp(lower))
    if memory.active:
        weaker = with_confidence(memory, lower)
    weeks = memory.decayed_weeks + due
    return replace(weaker, decayed_weeks=weeks, version=memory.version + 1)


def fades(memory: Memory) -> bool:
    """Return whether a memory loses confidence until a person or a source confirms the memory.

    Operational memories do (SPEC-0015), and unverified semantic ones (four-tier-memory-schema).
    """
    unverified = memory.kind is MemoryKind.SEMANTIC and memory.trust is Trust.UNVERIFIED
    return not memory.pinned and (memory.category in OPERATIONAL or unverified)


def decay_changes(
    existing: Iterable[Memory], *, now: datetime, act_id: int | None = None
) -> list[MemoryChange]:
    """Return the changes of those memories for which decay is due.

    Decay before an operator's act is part of the act and is reverted with it.
    """
    changes = []
    for memory in existing:
        weaker = apply_decay(memory, now=now)
        if weaker is not memory:
            weeks = weaker.decayed_weeks - memory.decayed_weeks
            reason = f"not confirmed for {weeks} more week{'s' if weeks > 1 else ''}"
            why = ChangeOrigin(cause="faded", actor="supervisor", reason=reason, act_id=act_id)
            changes.append(MemoryChange(memory, weaker, why))
    return changes


def weeks_due(memory: Memory, *, now: datetime) -> int:
    """Return the number of weeks of decay that are due and not subtracted yet."""
    return (now - memory.updated_at - GRACE_PERIOD) // WEEK - memory.decayed_weeks


def inactive_from(memory: Memory) -> datetime | None:
    """Return when decay makes a memory inactive unless the memory is confirmed; None: never."""
    if not memory.active or not fades(memory):
        return None
    surest = min(1.0, memory.confidence)
    weeks = sum(
        clamp(surest - WEEKLY_DECAY * week) >= ACTIVE_THRESHOLD
        for week in range(1, MAX_DECAY_WEEKS)
    )
    try:
        return memory.updated_at + GRACE_PERIOD + WEEK * (memory.decayed_weeks + weeks + 1)
    except OverflowError:
        return None  # later than the last possible date
