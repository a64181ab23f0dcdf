"""The undo of a single step of a memory's history, despite later steps."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.errors import Conflict, NotFound, expect_version
from lamplighter.domain.memory.intents import MemoryChange
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.undo import (
    REVIEW,
    UNDONE,
    can_undo,
    recorded_reason,
    undo,
    undo_obstacle,
    undo_reason,
)
from lamplighter.repository import Database
from lamplighter.repository.memory import history, memories
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import Recording, recording
from lamplighter.usecases.memory.curate import find_key_holder


async def undo_step(
    db: Database, memory_id: int, number: int, *, version: int | None, now: datetime
) -> Memory:
    """Revert the changes of a step; raises NotFound, Stale, and Conflict with the obstacle."""
    async with recording(db, "revert", now=now) as act:
        step = await history.get(db, memory_id, number)
        memory = await memories.get(db, memory_id)
        if step is None:
            raise NotFound(f"Change {number} of memory {memory_id} not found.")
        if memory is None:
            raise Conflict(f"Memory {memory_id} was deleted. Restore it from the trash first.")
        expect_version(memory, version)
        later = await history.changes_after(db, memory_id, number)
        undone = undo(memory, step, later)
        if undone.memory == memory:
            raise Conflict(undo_obstacle(undone.left, later))
        holder = await find_key_holder(db, memory, undone.memory)
        if holder is not None:
            raise Conflict(f"Its topic key now belongs to memory {holder}. Undo that change first.")
        reason = recorded_reason(step, memory, undone.memory)
        act.did(memory_id)
        change = MemoryChange(memory, undone.memory, act.why(UNDONE, reason))
        await store(db, [change], now=now)
        return undone.memory


async def revert_step(
    db: Database,
    memory: Memory,
    step: history.HistoryRecord,
    *,
    act: Recording,
    review_id: int,
    now: datetime,
) -> Memory:
    """Undo a step as part of a review, except for changes that are already reverted.

    Raises Conflict if a later change of the same field prevents the undo.
    """
    later = await history.changes_after(db, memory.id, step.id)
    undone = undo(memory, step, later)
    if undone.left:
        raise Conflict(f"Memory {memory.id}: {undo_obstacle(undone.left, later)}")
    if undone.memory == memory:
        return memory
    why = act.why(REVIEW, undo_reason(step), review_id=review_id)
    await store(db, [MemoryChange(memory, undone.memory, why)], now=now)
    return undone.memory


async def with_undo_state(
    db: Database, memory_id: int, entries: Sequence[history.HistoryRecord]
) -> list[tuple[history.HistoryRecord, bool]]:
    """Return the changes of a memory, each with whether it can be undone now."""
    if not entries:
        return []
    memory = await memories.get(db, memory_id)
    undos = await history.undos_after(db, memory_id, min(each.id for each in entries))
    return [(each, can_undo(memory, each, undos)) for each in entries]
