"""Knowledge: the way in for what clients, hooks and imports know (agentops-memory)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.admit import (
    Redact,
    admitted_edit,
    admitted_knowledge,
    knowledge_only,
)
from lamplighter.domain.memory.corrections import learnings, titled
from lamplighter.domain.memory.knowledge import (
    Captured,
    Kept,
    Outcome,
    Timeline,
    as_said,
    corrected,
    forgotten,
    keyed,
    revised,
    widened,
)
from lamplighter.domain.memory.memory import OPERATIONAL, Candidate, Category, Edit, Memory, Source
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import history, knowledge, memories, trash
from lamplighter.repository.memory import knowledge as timelines
from lamplighter.usecases.access import instrumentation
from lamplighter.usecases.memory import curate

WINDOW: Final = timedelta(minutes=15)
ALWAYS: Final = timedelta(days=36_500)
"""As long as anything may have been held: what is listed again is never new."""

AT_ONCE: Final = 50
"""How much of one report is kept in one write."""

REVISED: Final = "revised"
FORGOTTEN: Final = "forgotten"
PLACED: Final = "placed"


@instrumentation.save
async def keep(
    db: Database,
    candidate: Candidate,
    *,
    now: datetime,
    redact: Redact,
    window: timedelta = WINDOW,
    by: str = "",
) -> Kept:
    """Revise what has the same topic key, count what has the same words, or keep a new memory.

    The three tiers of agentops-memory, in one transaction; `by` is who says it, in words.
    Raises Invalid for what may not enter.
    """
    candidate = as_said(admitted_knowledge(candidate, redact))
    async with writing(db):
        again = await said_again(db, candidate, window, now=now, by=by)
        return again or await learn(db, candidate, now=now, reason=by)


async def said_again(
    db: Database, candidate: Candidate, window: timedelta, *, now: datetime, by: str = ""
) -> Kept | None:
    """Revise or count the memory that an admitted candidate says again; None where none does."""
    held = await _of_key(db, candidate)
    if held is not None:
        return await _revise(db, held, candidate, now=now, by=by)
    since = now - min(window, ALWAYS)
    again = await knowledge.held(db, candidate, since=since) if window else None
    placed = None if again is None else await _placed(db, again, candidate)
    if again is None or placed is None:
        return None
    counted = await knowledge.count_again(db, placed, now=now)
    if placed != again:
        await memories.update(db, counted, now=now)
        await history.append(db, again, counted, _why(PLACED, candidate.session_id, by), now=now)
    return Kept(Outcome.DEDUPLICATED, counted)


async def learn(db: Database, candidate: Candidate, *, now: datetime, reason: str = "") -> Kept:
    """Keep an admitted candidate as a new memory; call it within `writing`."""
    memory = await memories.insert(db, candidate, now=now)
    why = _why("learned", candidate.session_id, reason)
    await history.append(db, None, memory, why, now=now)
    return Kept(Outcome.CREATED, memory)


async def capture(
    db: Database,
    text: str,
    *,
    project: str,
    session_id: int | None,
    now: datetime,
    redact: Redact,
    source_ref: str | None = None,
    by: str = "",
) -> Captured:
    """Keep what a report lists under `## Key Learnings`; what we hold already is counted.

    Such a learning is an unverified episode of the category `learning`. In short writes:
    whoever saves meanwhile does not wait for all of a long report.
    """
    kept: list[Kept] = []
    found = learnings(text)
    for some in (found[at : at + AT_ONCE] for at in range(0, len(found), AT_ONCE)):
        async with writing(db):
            for learning in some:
                candidate = Candidate(
                    category=Category.LEARNING,
                    service=None,
                    observation=learning,
                    title=titled(learning),
                    tier=0,
                    session_id=session_id,
                    source=Source.CAPTURED,
                    source_ref=source_ref,
                    project=project,
                )
                kept.append(await keep(db, candidate, now=now, redact=redact, window=ALWAYS, by=by))
    return Captured(tuple(kept))


async def get(db: Database, memory_id: int) -> Memory:
    """Return a memory as clients may read it: active, and knowledge. Raises NotFound."""
    memory = await memories.get(db, memory_id)
    if memory is None or not memory.active or memory.category in OPERATIONAL:
        raise NotFound(f"There is no observation {memory_id}.")
    return memory


async def correct(
    db: Database,
    memory_id: int,
    change: Edit,
    *,
    now: datetime,
    redact: Redact,
    session_id: int | None = None,
    by: str = "",
) -> Memory:
    """Change the words of a memory for a client; raises NotFound, Invalid.

    Its project, its confidence, its service and whether it is told are a person's to change.
    """
    change = replace(change, confidence=None, service=None, active=None, pinned=None, project=None)
    async with writing(db):
        memory = await get(db, memory_id)
        change = admitted_edit(change, memory.category, redact)
        changed = corrected(memory, change, now=now)
        if changed == memory:
            return memory
        if wrong := knowledge_only(changed.category):
            raise Invalid(*wrong)
        await curate.check_key(db, memory, changed)
        await memories.update(db, changed, now=now)
        await history.append(db, memory, changed, _why("edited", session_id, by), now=now)
        return changed


async def forget(
    db: Database, memory_id: int, *, now: datetime, session_id: int | None = None, by: str = ""
) -> Memory:
    """Take a memory back for a client: it is told to nobody any more. Raises NotFound.

    Only knowledge: what sessions learned of services is not a client's to take back. An
    operator still sees the memory, and brings it back by making it active.
    """
    async with writing(db):
        memory = await get(db, memory_id)
        gone = forgotten(memory)
        await memories.update(db, gone, now=now)
        await history.append(db, memory, gone, _why(FORGOTTEN, session_id, by), now=now)
        return gone


async def remove(
    db: Database, memory_id: int, *, now: datetime, session_id: int | None = None, by: str = ""
) -> None:
    """Move a memory of knowledge into the trash, a forgotten one too: only an operator finds it.

    Raises NotFound. Who asks has to hold `memories:write`.
    """
    async with writing(db):
        memory = await memories.get(db, memory_id)
        if memory is None or memory.category in OPERATIONAL:
            raise NotFound(f"There is no observation {memory_id}.")
        why = _why("deleted", session_id, by)
        await trash.move(db, [memory_id], why, now=now, alone=True)


async def timeline(db: Database, memory_id: int, *, before: int, after: int) -> Timeline:
    """Return what was kept around a memory, of its session, else of its project.

    Raises NotFound.
    """
    async with reading(db):
        focus = await get(db, memory_id)
        return await timelines.around(db, focus, before=before, after=after)


async def _of_key(db: Database, candidate: Candidate) -> Memory | None:
    if candidate.topic_key is None:
        return None
    holder = await knowledge.holder(
        db, candidate.topic_key, project=candidate.project, scope=candidate.scope
    )
    return None if holder is None else await memories.get(db, holder)


async def _placed(db: Database, held: Memory, candidate: Candidate) -> Memory | None:
    """Return what is held where its words are said again: found as widely, under its key.

    None where the wider place has another memory of its key: then both are kept. A key that
    another memory has is not given to this one.
    """
    wide = widened(held, candidate)
    if wide != held and not await _free(db, wide):
        return None
    both = keyed(wide, candidate)
    return both if both == wide or await _free(db, both) else wide


async def _free(db: Database, memory: Memory) -> bool:
    if memory.topic_key is None:
        return True
    holder = await knowledge.holder(
        db, memory.topic_key, project=memory.project, scope=memory.scope, without=memory.id
    )
    return holder is None


async def _revise(
    db: Database, held: Memory, candidate: Candidate, *, now: datetime, by: str
) -> Kept:
    memory = revised(held, candidate, now=now)
    await memories.update(db, memory, now=now)
    await history.append(db, held, memory, _why(REVISED, candidate.session_id, by), now=now)
    return Kept(Outcome.UPDATED, memory)


def _why(cause: str, session_id: int | None, reason: str = "") -> history.Why:
    actor = "client" if session_id is None else "session"
    return history.Why(cause=cause, actor=actor, reason=reason, session_id=session_id)
