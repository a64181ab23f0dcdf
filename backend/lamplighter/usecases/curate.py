"""Curate: what an operator writes, corrects and deletes, given as it is typed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from lamplighter.domain.admit import Redact, admitted, admitted_edit, misplaced
from lamplighter.domain.errors import Invalid, NotFound, Stale, Wrong
from lamplighter.domain.knowledge import forgotten
from lamplighter.domain.memory import (
    GENERAL,
    Candidate,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    edited,
)
from lamplighter.repository import (
    Database,
    bulk,
    history,
    marks,
    memories,
    reviews,
    topic_keys,
    writing,
)
from lamplighter.repository.readable import Unreadable
from lamplighter.usecases.fade import apply_due
from lamplighter.usecases.naming import spelled

OPERATOR: Final = "operator"


async def create(
    db: Database,
    candidate: Candidate,
    *,
    now: datetime,
    redact: Redact,
    known: Sequence[str] = (),
) -> Memory:
    """Keep what an operator knows, as given: it is never merged by itself."""
    candidate = admitted(candidate, redact)
    async with writing(db):
        candidate = replace(candidate, service=await spelled(db, candidate.service, known))
        await _check_key(db, candidate.topic_key, candidate.project, candidate.scope)
        memory = await memories.insert(db, candidate, now=now)
        await history.append(db, None, memory, _by("created"), now=now)
        return memory


async def get(db: Database, memory_id: int, *, at: datetime | None = None) -> Memory:
    """Return a memory, with `at` as it stood then; raises NotFound."""
    memory = await memories.get(db, memory_id, at=at)
    if memory is None:
        then = "" if at is None else " of that time"
        raise NotFound(f"There is no memory {memory_id}{then}.")
    return memory


async def edit(
    db: Database,
    memory_id: int,
    change: Edit,
    *,
    version: int | None,
    now: datetime,
    redact: Redact,
    known: Sequence[str] = (),
) -> Memory:
    """Change a memory; raises Stale when it is no longer at `version`, NotFound, Invalid."""
    async with writing(db):
        memory = await get(db, memory_id)
        if version is not None and version != memory.version:
            raise Stale(memory)
        change = admitted_edit(change, memory.category, redact)
        if change.service not in (None, GENERAL):
            change = replace(change, service=await spelled(db, change.service, known))
        [memory] = await apply_due(db, [memory], now=now)
        changed = edited(memory, change, now=now)
        if change.active and not changed.active:
            raise Invalid(Wrong("active", "stays off below 0.30: raise the confidence"))
        await _check_place(db, memory, changed)
        if changed != memory:
            await memories.update(db, changed, now=now)
            await history.append(db, memory, changed, _by("edited"), now=now)
        return changed


async def delete(db: Database, memory_id: int, *, version: int | None, now: datetime) -> None:
    """Remove a memory and its texts for good; that it was, who deleted it and when stays."""
    async with writing(db):
        try:
            memory = await get(db, memory_id)
        except Unreadable:  # then nobody can have read a version either
            await bulk.remove(db, [memory_id], bulk=None, now=now)
            return
        if version is not None and version != memory.version:
            raise Stale(memory)
        await remove(db, memory, _by("deleted"), now=now)


async def set_aside(db: Database, memory_id: int, *, now: datetime) -> Memory:
    """Delete a memory so that it can be restored: no session is told it. Raises NotFound."""
    async with writing(db):
        memory = await get(db, memory_id)
        if memory.inactive_reason is InactiveReason.DELETED:
            return memory
        gone = forgotten(memory)
        await memories.update(db, gone, now=now)
        await history.append(db, memory, gone, _by("forgotten"), now=now)
        return gone


async def remove(db: Database, memory: Memory, why: history.Why, *, now: datetime) -> None:
    """Remove a memory and all that says its words; part of a transaction."""
    await memories.delete(db, memory, now=now)
    await history.append(db, memory, None, why, now=now)
    await history.forget_texts(db, memory.id)
    await history.forget_quotes(db, [memory.id])
    await marks.forget(db, [memory.id])
    await reviews.forget(db, [memory.id], now=now)


async def _check_place(db: Database, memory: Memory, changed: Memory) -> None:
    """Raise Invalid for a scope or a topic key that a memory may not have with its category."""
    wrong = misplaced(changed.category, changed.scope, changed.topic_key, changed.project)
    if wrong:
        raise Invalid(*wrong)
    await check_key(db, memory, changed)


async def check_key(db: Database, memory: Memory, changed: Memory) -> None:
    """Raise Invalid where another memory holds the key that a change would give this one."""
    holder = await rival(db, memory, changed)
    if holder is not None:
        raise _taken(holder)


async def rival(db: Database, memory: Memory, changed: Memory) -> MemoryId | None:
    """Return the memory that holds the key which a change would give this one."""
    held, wanted = (_held(each) for each in (memory, changed))
    if held == wanted or not changed.active or changed.topic_key is None:
        return None
    place = {"project": changed.project, "scope": changed.scope}
    return await topic_keys.holder(db, changed.topic_key, **place, without=memory.id)


def _held(memory: Memory) -> tuple[object, ...]:
    return memory.project, memory.scope, memory.topic_key, memory.active


async def _check_key(db: Database, topic_key: str | None, project: str, scope: str) -> None:
    """A key has one current version: what a person writes beside it is refused, not merged."""
    if topic_key is None:
        return
    holder = await topic_keys.holder(db, topic_key, project=project, scope=scope)
    if holder is not None:
        raise _taken(holder)


def _taken(holder: MemoryId) -> Invalid:
    return Invalid(Wrong("topic_key", f"is that of memory {holder}: correct that one instead"))


def _by(cause: str) -> history.Why:
    return history.Why(cause=cause, actor=OPERATOR)
