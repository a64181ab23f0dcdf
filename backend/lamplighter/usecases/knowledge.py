"""Knowledge: the way in for what clients, hooks and imports know (agentops-memory)."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.admit import Redact, admitted
from lamplighter.domain.knowledge import Kept, Outcome, revised
from lamplighter.domain.memory import Candidate, Memory
from lamplighter.repository import (
    Database,
    captures,
    history,
    memories,
    topic_keys,
    writing,
)

WINDOW: Final = timedelta(minutes=15)
REVISED: Final = "revised"


async def keep(
    db: Database,
    candidate: Candidate,
    *,
    now: datetime,
    redact: Redact,
    window: timedelta = WINDOW,
) -> Kept:
    """Revise what has the same topic key, count what has the same words, or keep a new memory.

    The three tiers of agentops-memory, in one transaction. Raises Invalid for what
    may not enter.
    """
    candidate = admitted(candidate, redact)
    async with writing(db):
        held = await _of_key(db, candidate)
        if held is not None:
            return await _revise(db, held, candidate, now=now)
        again = await captures.held(db, candidate, since=now - window) if window else None
        if again is not None:
            await captures.count_again(db, again, now=now)
            memory = await memories.get(db, again)
            assert memory is not None
            return Kept(Outcome.DEDUPLICATED, memory)
        memory = await memories.insert(db, candidate, now=now)
        await history.append(db, None, memory, _why(candidate, "learned"), now=now)
        return Kept(Outcome.CREATED, memory)


async def _of_key(db: Database, candidate: Candidate) -> Memory | None:
    if candidate.topic_key is None:
        return None
    holder = await topic_keys.holder(
        db, candidate.topic_key, project=candidate.project, scope=candidate.scope
    )
    return None if holder is None else await memories.get(db, holder)


async def _revise(db: Database, held: Memory, candidate: Candidate, *, now: datetime) -> Kept:
    memory = revised(held, candidate, now=now)
    await memories.update(db, memory, now=now)
    await history.append(db, held, memory, _why(candidate, REVISED), now=now)
    return Kept(Outcome.UPDATED, memory)


def _why(candidate: Candidate, cause: str) -> history.Why:
    return history.Why(cause=cause, actor="session", session_id=candidate.session_id)
