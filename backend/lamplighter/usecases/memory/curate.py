"""Curation: memories that an operator creates, corrects, confirms and deletes."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, expect_version
from lamplighter.domain.memory import knowledge as rules
from lamplighter.domain.memory.admit import admit_candidate, admit_edit, knowledge_field_errors
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import MemoryChange, NewMemory
from lamplighter.domain.memory.knowledge import withdraw
from lamplighter.domain.memory.memory import (
    GENERAL,
    Candidate,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    apply_edit,
)
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import knowledge, trash
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.store.unreadable import Unreadable
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import OPERATOR as OPERATOR
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import lookup

CONFIRM: Final = "confirm"
CONFIRMED: Final = "confirmed"


async def create(here: Context, candidate: Candidate, *, services: Sequence[str] = ()) -> Memory:
    """Save an operator's memory unchanged: it is never merged automatically."""
    db, now = here.db, here.now()
    candidate = admit_candidate(candidate, here.redact)
    async with writing(db, short=True), recording(db, "create", now=now) as act:
        service = await service_name(db, candidate.service, services)
        if service != candidate.service:
            candidate = replace(candidate, service=service)
        # a key has one current version: a person's second text is refused, not merged
        _refuse_key_of(await knowledge.topic_key_holder(db, candidate))
        [memory] = await store(db, [NewMemory(candidate, act.why("created"))], now=now)
        act.did(memory.id)
        return memory


async def edit(
    here: Context,
    memory_id: int,
    change: Edit,
    *,
    version: int | None,
    services: Sequence[str] = (),
) -> Memory:
    """Edit a memory; raises Stale if it is no longer at `version`, NotFound, Invalid."""
    db, now = here.db, here.now()
    async with recording(db, "edit", now=now) as act:
        memory = expect_version(await lookup.get(db, memory_id), version)
        change = admit_edit(change, memory.category, here.redact)
        if change.service not in (None, GENERAL):
            change = replace(change, service=await service_name(db, change.service, services))
        changes = decay_changes([memory], now=now, act_id=act.id)
        memory = apply_decay(memory, now=now)
        changed = apply_edit(memory, change, now=now)
        if change.active and not changed.active:
            raise Invalid(
                InvalidField(
                    "active", "cannot be true with a confidence below 0.30; raise the confidence"
                )
            )
        await check_place(db, memory, changed)
        if changed != memory:
            changes.append(MemoryChange(memory, changed, act.why("edited")))
            act.did(memory.id)
        await store(db, changes, now=now)
        return changed


async def confirm(
    db: Database, memory_id: int, *, version: int | None = None, now: datetime, by: str = ""
) -> Memory:
    """Confirm a memory: it becomes trusted. A trusted memory stays unchanged.

    `by` is the client that a person confirmed it with. Raises NotFound, Stale, and Conflict for an
    inactive memory.
    """
    async with writing(db):
        memory = expect_version(await lookup.get(db, memory_id), version)
        if not memory.active:
            raise Conflict(f"Memory {memory_id} is inactive. Make it active before you confirm it.")
        due = apply_decay(memory, now=now)
        confirmed = rules.confirm(due, now=now)
        if confirmed == due:
            return memory
        async with recording(db, CONFIRM, now=now) as act:
            changes = decay_changes([memory], now=now, act_id=act.id)
            changes.append(MemoryChange(due, confirmed, act.why(CONFIRMED, by)))
            await store(db, changes, now=now)
            act.did(memory_id)
        return confirmed


async def delete(db: Database, memory_id: int, *, version: int | None, now: datetime) -> None:
    """Move a memory into the trash; raises Stale, NotFound."""
    async with recording(db, "delete", now=now) as act:
        with suppress(Unreadable):  # an unreadable memory has no version to compare
            expect_version(await lookup.get(db, memory_id), version)
        await trash.move(db, [memory_id], act.why("deleted"), now=now, alone=True)
        act.did(memory_id)


async def soft_delete(db: Database, memory_id: int, *, now: datetime) -> Memory:
    """Mark a memory as deleted; it stays in the list as inactive. Raises NotFound."""
    async with recording(db, "deactivate", now=now) as act:
        memory = await lookup.get(db, memory_id)
        if memory.inactive_reason is InactiveReason.DELETED:
            return memory
        gone = withdraw(memory)
        await store(db, [MemoryChange(memory, gone, act.why("forgotten"))], now=now)
        act.did(memory_id)
        return gone


async def check_place(db: Database, memory: Memory, changed: Memory) -> None:
    """Raise Invalid for a scope, key or expiry that is not permitted for the memory's category."""
    wrong = knowledge_field_errors(
        changed.category, changed.scope, changed.topic_key, changed.project, changed.expires_at
    )
    if wrong:
        raise Invalid(*wrong)
    await check_key(db, memory, changed)


async def check_key(db: Database, memory: Memory, changed: Memory) -> None:
    """Raise Invalid if another memory has the topic key that this memory would get by a change."""
    _refuse_key_of(await find_key_holder(db, memory, changed))


async def find_key_holder(db: Database, memory: Memory, changed: Memory) -> MemoryId | None:
    """Return the memory that has the topic key which this memory would get by a change."""
    held, wanted = (_key_state(each) for each in (memory, changed))
    if held == wanted or not changed.active:
        return None
    return await knowledge.topic_key_holder(db, changed, without=memory.id)


def _key_state(memory: Memory) -> tuple[object, ...]:
    return memory.project, memory.scope, memory.topic_key, memory.active


def _refuse_key_of(holder: MemoryId | None) -> None:
    if holder is not None:
        raise Invalid(
            InvalidField("topic_key", f"belongs to memory {holder}; edit that memory instead")
        )
