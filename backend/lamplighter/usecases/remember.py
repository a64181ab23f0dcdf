"""Remember: the one way in for what is learned, whoever proposes it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.admit import Redact, admitted
from lamplighter.domain.memory import Candidate, Memory, MemoryId
from lamplighter.domain.reconcile import Decision, Outcome, reconcile
from lamplighter.domain.relate import relate
from lamplighter.repository import Database, history, links, memories, writing
from lamplighter.usecases.fade import apply_due
from lamplighter.usecases.naming import spelled


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a candidate: the memory that holds it now, and why."""

    outcome: Outcome
    memory: Memory
    reason: str


async def remember(
    db: Database,
    candidate: Candidate,
    *,
    now: datetime,
    redact: Redact,
    known: Sequence[str] = (),
    fading: bool = True,
) -> Remembered:
    """Reinforce the memory we hold, or learn a new one. Raises Invalid for what may not enter.

    `known` are the names of the services we operate, as they are spelled. Without
    `fading` what is due is left for later: the clock is not to be trusted now.
    """
    candidate = admitted(candidate, redact)
    async with writing(db):
        service = await spelled(db, candidate.service, known)
        candidate = replace(candidate, service=service)
        held = await memories.beside(db, candidate)
        held = await apply_due(db, held, now=now) if fading else held
        moved = await _moved(db, candidate)
        decision = reconcile(
            candidate,
            held,
            lambda new, old: relate(new, old, service=candidate.service).relation,
            now=now,
            moved=moved,
        )
        memory = await _kept(db, candidate, decision, held, now=now)
        return Remembered(decision.outcome, memory, decision.reason)


async def _moved(db: Database, candidate: Candidate) -> set[MemoryId]:
    if candidate.session_id is None:
        return set()
    return await history.reinforced_by(db, candidate.session_id)


async def _kept(
    db: Database,
    candidate: Candidate,
    decision: Decision,
    held: Sequence[Memory],
    *,
    now: datetime,
) -> Memory:
    match decision:
        case Decision(Outcome.REINFORCED, Memory() as memory):
            await memories.update(db, memory, now=now)
            before = next(each for each in held if each.id == memory.id)
            await _record(db, before, memory, candidate, history.REINFORCED, decision, now=now)
            return memory
        case Decision(Outcome.UNCHANGED, Memory() as memory):
            return memory
    memory = await memories.insert(db, candidate, now=now)
    await _record(db, None, memory, candidate, "learned", decision, now=now)
    if decision.revives is not None:
        await links.insert(
            db,
            memory.id,
            decision.revives,
            links.REVIVES,
            session_id=candidate.session_id,
            now=now,
        )
    return memory


async def _record(
    db: Database,
    before: Memory | None,
    memory: Memory,
    candidate: Candidate,
    cause: str,
    decision: Decision,
    *,
    now: datetime,
) -> None:
    why = history.Why(
        cause=cause,
        actor="operator" if candidate.session_id is None else "session",
        reason=decision.reason,
        session_id=candidate.session_id,
    )
    await history.append(db, before, memory, why, now=now)
