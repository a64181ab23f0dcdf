"""What is not confirmed fades (SPEC-0015, Staleness Decay)."""

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
"""How long knowledge of a kind is kept after its last change; a kind without one has no end."""

EPISODE_LIFETIME: Final = timedelta(days=30)
LIFETIMES: Final[Lifetimes] = {MemoryKind.EPISODIC: EPISODE_LIFETIME}
"""The lifetimes unless settings say otherwise (four-tier-memory-schema)."""

MAX_DECAY_WEEKS: Final = 10  # after so many nothing is left of any confidence


def apply_decay(memory: Memory, *, now: datetime) -> Memory:
    """Take 0.1 for each whole week past 30 days without confirmation, once for each week.

    Weeks already taken are remembered, so asking once or a thousand times is the
    same. What `fades` says loses it, active or not. Fading does not touch `updated_at` and
    brings nothing back.
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
    """Return whether a memory loses confidence while nobody confirms or verifies it.

    Operational ones do (SPEC-0015), and unverified semantic ones (four-tier-memory-schema).
    """
    unverified = memory.kind is MemoryKind.SEMANTIC and memory.trust is Trust.UNVERIFIED
    return not memory.pinned and (memory.category in OPERATIONAL or unverified)


def decay_changes(
    existing: Iterable[Memory], *, now: datetime, act_id: int | None = None
) -> list[MemoryChange]:
    """Return the changes of those memories that something is due from.

    Before an operator's act they are part of it, and undone with it.
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
    """Return how many weeks of fading have not been taken yet."""
    return (now - memory.updated_at - GRACE_PERIOD) // WEEK - memory.decayed_weeks


def expiry(memory: Memory, lifetimes: Lifetimes) -> datetime | None:
    """Return when a memory expires; None: never.

    Its own moment decides, else the lifetime of its kind after its last change.
    Operational memories fade instead (SPEC-0015), pinned ones stay.
    """
    if memory.pinned or memory.category in OPERATIONAL:
        return None
    lifetime = lifetimes.get(memory.kind)
    if memory.expires_at is not None or lifetime is None:
        return memory.expires_at
    return memory.updated_at + lifetime


def inactive_from(memory: Memory) -> datetime | None:
    """Return from when on fading leaves a memory inactive unless it is confirmed; None: never."""
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
        return None  # after all time
