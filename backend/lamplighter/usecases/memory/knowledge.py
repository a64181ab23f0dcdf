"""Knowledge: saves from clients, hooks and imports (agentops-memory)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.admit import admit_edit, admit_knowledge, require_knowledge
from lamplighter.domain.memory.corrections import extract_learnings, learning_title
from lamplighter.domain.memory.intents import (
    ChangeOrigin,
    Intent,
    MemoryChange,
    NewMemory,
    Repeat,
)
from lamplighter.domain.memory.knowledge import (
    CaptureResult,
    MemoryTimeline,
    SavedKnowledge,
    SaveOutcome,
    apply_correction,
    revise,
    set_topic_key,
    widen_scope,
    with_source_trust,
    withdraw,
)
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Category, Edit, Memory, Source
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import knowledge, memories, trash
from lamplighter.repository.memory import knowledge as timelines
from lamplighter.repository.writes import store
from lamplighter.usecases import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import curate

ALWAYS: Final = timedelta(days=36_500)
"""A window longer than any history: a repeated learning is never new."""

BATCH_SIZE: Final = 50
"""The number of learnings of one report to save in one transaction."""

REVISED: Final = "revised"
FORGOTTEN: Final = "forgotten"
PLACED: Final = "placed"


@instrumentation.trace_save
async def save(
    here: Context, candidate: Candidate, *, window: timedelta, by: str = ""
) -> SavedKnowledge:
    """Revise the memory with the same topic key, count a repeated text, or create a new memory.

    The three tiers of agentops-memory, in one transaction; `by` describes the caller. Raises
    Invalid for inadmissible content.
    """
    candidate = with_source_trust(admit_knowledge(candidate, here.redact))
    async with writing(here.db, short=True):
        now = here.now()
        again = await merge_duplicate(here.db, candidate, window, now=now, by=by)
        return again or await learn(here.db, candidate, now=now, reason=by)


async def merge_duplicate(
    db: Database, candidate: Candidate, window: timedelta, *, now: datetime, by: str = ""
) -> SavedKnowledge | None:
    """Revise or count the memory that an admitted candidate repeats; None if there is none."""
    holder = await knowledge.topic_key_holder(db, candidate)
    held = None if holder is None else await memories.get(db, holder)
    if held is not None:
        return await _revise(db, held, candidate, now=now, by=by)
    since = now - min(window, ALWAYS)
    again = await knowledge.find_duplicate(db, candidate, start=since) if window else None
    placed = None if again is None else await _merge_scope(db, again, candidate)
    if again is None or placed is None:
        return None
    counted = replace(placed, duplicate_count=placed.duplicate_count + 1, last_seen_at=now)
    intent: Intent = Repeat(again.id)
    if placed != again:
        intent = MemoryChange(again, counted, _why(PLACED, candidate.session_id, by))
    await store(db, [intent], now=now)
    return SavedKnowledge(SaveOutcome.DEDUPLICATED, counted)


async def learn(
    db: Database, candidate: Candidate, *, now: datetime, reason: str = ""
) -> SavedKnowledge:
    """Save an admitted candidate as a new memory; call it within `writing`."""
    why = _why("learned", candidate.session_id, reason)
    [memory] = await store(db, [NewMemory(candidate, why)], now=now)
    return SavedKnowledge(SaveOutcome.CREATED, memory)


async def capture(
    here: Context,
    text: str,
    *,
    project: str,
    session_id: int | None,
    source_ref: str | None = None,
    by: str = "",
) -> CaptureResult:
    """Save the learnings listed under `## Key Learnings` in a report; existing ones are counted.

    Each learning is an unverified episode of the category `learning`. Saved in short transactions:
    other writers do not wait for all of a long report.
    """
    saved: list[SavedKnowledge] = []
    found = extract_learnings(text)
    for some in (found[at : at + BATCH_SIZE] for at in range(0, len(found), BATCH_SIZE)):
        async with writing(here.db):
            for learning in some:
                candidate = Candidate(
                    category=Category.LEARNING,
                    service=None,
                    observation=learning,
                    title=learning_title(learning),
                    tier=0,
                    session_id=session_id,
                    source=Source.CAPTURED,
                    source_ref=source_ref,
                    project=project,
                )
                saved.append(await save(here, candidate, window=ALWAYS, by=by))
    return CaptureResult(tuple(saved))


async def get(db: Database, memory_id: int) -> Memory:
    """Return a memory that clients may read: active, and knowledge. Raises NotFound."""
    memory = await memories.get(db, memory_id)
    if memory is None or not memory.active or memory.category in OPERATIONAL:
        raise NotFound(f"Observation {memory_id} not found.")
    return memory


async def correct(
    here: Context,
    memory_id: int,
    change: Edit,
    *,
    session_id: int | None = None,
    by: str = "",
) -> Memory:
    """Edit a memory's content for a client; raises NotFound, Invalid.

    Only a person may change its project, confidence, service, pin and active state.
    """
    db, now = here.db, here.now()
    change = replace(change, confidence=None, service=None, active=None, pinned=None, project=None)
    async with writing(db):
        memory = await get(db, memory_id)
        change = admit_edit(change, memory.category, here.redact)
        changed = apply_correction(memory, change, now=now)
        if changed == memory:
            return memory
        if wrong := require_knowledge(changed.category):
            raise Invalid(*wrong)
        await curate.check_key(db, memory, changed)
        why = _why("edited", session_id, by)
        await store(db, [MemoryChange(memory, changed, why)], now=now)
        return changed


async def withdraw_memory(
    db: Database, memory_id: int, *, now: datetime, session_id: int | None = None, by: str = ""
) -> Memory:
    """Withdraw a memory for a client: prompts no longer include it. Raises NotFound.

    Only knowledge: a client cannot withdraw observations of services by sessions. An operator still
    sees the memory, and can activate it again.
    """
    async with writing(db):
        memory = await get(db, memory_id)
        gone = withdraw(memory)
        why = _why(FORGOTTEN, session_id, by)
        await store(db, [MemoryChange(memory, gone, why)], now=now)
        return gone


async def remove(
    db: Database, memory_id: int, *, now: datetime, session_id: int | None = None, by: str = ""
) -> None:
    """Move a knowledge memory, also a withdrawn one, into the trash: only an operator finds it.

    Raises NotFound. The caller needs `memories:write`.
    """
    async with writing(db):
        memory = await memories.get(db, memory_id)
        if memory is None or memory.category in OPERATIONAL:
            raise NotFound(f"Observation {memory_id} not found.")
        why = _why("deleted", session_id, by)
        await trash.move(db, [memory_id], why, now=now, alone=True)


async def timeline(db: Database, memory_id: int, *, before: int, after: int) -> MemoryTimeline:
    """Return the memories saved around a memory in its session, else in its project.

    Raises NotFound.
    """
    async with reading(db):
        focus = await get(db, memory_id)
        return await timelines.around(db, focus, before=before, after=after)


async def _merge_scope(db: Database, existing: Memory, candidate: Candidate) -> Memory | None:
    """Return the duplicate with the wider scope of the two, and with the candidate's topic key.

    None if another memory has its key in the wider scope: then both are stored. A key that another
    memory has is not assigned.
    """
    wide = widen_scope(existing, candidate)
    if wide != existing and await knowledge.topic_key_holder(db, wide, without=wide.id):
        return None
    both = set_topic_key(wide, candidate)
    if both != wide and await knowledge.topic_key_holder(db, both, without=both.id):
        return wide
    return both


async def _revise(
    db: Database, existing: Memory, candidate: Candidate, *, now: datetime, by: str
) -> SavedKnowledge:
    memory = revise(existing, candidate, now=now)
    why = _why(REVISED, candidate.session_id, by)
    await store(db, [MemoryChange(existing, memory, why)], now=now)
    return SavedKnowledge(SaveOutcome.UPDATED, memory)


def _why(cause: str, session_id: int | None, reason: str = "") -> ChangeOrigin:
    actor = "client" if session_id is None else "session"
    return ChangeOrigin(cause=cause, actor=actor, reason=reason, session_id=session_id)
