"""The schedule of verification: marks after deployments, due memories, attached checks."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from lamplighter.domain.errors import (
    Conflict,
    Invalid,
    InvalidField,
    LamplighterError,
    NotFound,
    require,
)
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.services.service import Services
from lamplighter.domain.text import one_line, shorten
from lamplighter.domain.verify.attached import MAX_PER_MEMORY, MemoryCheck, validate_attachment
from lamplighter.domain.verify.claims import ClaimKind, TextClaim, changed_names
from lamplighter.domain.verify.verdict import (
    EVIDENCE_CHARS,
    Answer,
    AnswerState,
    ClaimFinding,
    Verdict,
    VerdictState,
)
from lamplighter.repository import reading, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import checks
from lamplighter.repository.verify import attached, verifications
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.verify import (
    Sources,
    VerificationResult,
    apply_verdict,
    verify_memories,
)

EVENTS_AT_ONCE: Final = 200
MARKED_AT_ONCE: Final = 500
MEMORIES_AT_ONCE: Final = 20
CHECKS_AT_ONCE: Final = 5
AGAIN_AFTER: Final = timedelta(days=7)
"""The interval after which an unverified memory that did not change is tested again."""
CHECK_MARGIN: Final = timedelta(hours=2)

RunCommand = Callable[[str], Awaitable[Answer]]
"""Judges a command, runs it if it is read-only, and returns what its exit status means."""


async def mark_changed(here: Context) -> int:
    """Mark memories affected by a new deployment or configuration event; return how many."""
    db, now = here.db, here.now()
    async with reading(db):
        batch = await verifications.events_after_position(db, limit=EVENTS_AT_ONCE)
    if batch == []:
        return 0
    count = 0
    async with writing(db):
        batch = await verifications.events_after_position(db, limit=EVENTS_AT_ONCE)
        for event in batch or ():
            names = changed_names(event.text)
            if names is None:
                continue
            ids = await verifications.naming(db, event.service, names, limit=MARKED_AT_ONCE)
            reason = shorten(one_line(f"event {event.id}: {event.text}"), EVIDENCE_CHARS)
            await verifications.mark(db, ids, reason, now=now)
            await attached.make_due(db, ids, now=now)
            count += len(ids)
        if batch != []:
            await verifications.save_position(db, batch[-1].id if batch else None)
    return count


async def verify_due(
    here: Context, sources: Sources, *, after: int = 0
) -> tuple[list[VerificationResult], int]:
    """Verify the next memories: marked ones, else unverified ones with an ID above `after`.

    Returns their results and the next `after`; 0 without results means that none is left.
    """
    before = here.now() - AGAIN_AFTER
    async with reading(here.db):
        marked = await verifications.marked(here.db, limit=MEMORIES_AT_ONCE)
        ids = marked or await verifications.unverified(
            here.db, before=before, limit=MEMORIES_AT_ONCE, after=after
        )
    results = await verify_memories(here, sources, ids)
    if marked:
        gone = set(marked) - {each.memory.id for each in results}
        async with writing(here.db):
            await verifications.unmark(here.db, sorted(gone))
        return results, after
    return results, max(ids, default=0)


async def attach(
    here: Context,
    memory_id: int,
    services: Services,
    judge: Callable[[str], str],
    *,
    service: str | None = None,
    check: str | None = None,
    command: str | None = None,
    cadence: timedelta = timedelta(days=1),
) -> MemoryCheck:
    """Attach a declared check or a read-only command to a memory, on behalf of a person.

    `judge` returns why a command is refused. Raises Invalid, NotFound, Conflict.
    """
    validate_attachment(service, check, command, cadence.total_seconds())
    if command and (why_not := judge(command)):
        raise Invalid(InvalidField("command", f"is refused: {why_not}"))
    if service and check:
        service, check = _declared_check(services, service, check)
    async with writing(here.db):
        require(await memories.get(here.db, memory_id), f"Memory {memory_id} not found.")
        if len(await attached.of_memory(here.db, memory_id)) >= MAX_PER_MEMORY:
            raise Conflict(f"Memory {memory_id} already has {MAX_PER_MEMORY} checks.")
        return await attached.insert(
            here.db,
            memory_id,
            service=service or None,
            check=check or None,
            command=command or None,
            cadence=cadence.total_seconds(),
            now=here.now(),
        )


async def detach(here: Context, memory_id: int, number: int) -> None:
    """Detach a check from a memory; raises NotFound."""
    async with writing(here.db):
        if not await attached.remove(here.db, memory_id, number):
            raise NotFound(f"Memory {memory_id} has no check {number}.")


async def run_attached(here: Context, run: RunCommand) -> int:
    """Run the attached checks that are due; return how many."""
    async with reading(here.db):
        due = await attached.due(here.db, now=here.now(), limit=CHECKS_AT_ONCE)
    for each in due:
        await run_one(here, each, run)
    return len(due)


async def run_checks_of(here: Context, memory_id: int, run: RunCommand) -> list[VerificationResult]:
    """Run the attached checks of a memory now."""
    async with reading(here.db):
        found = await attached.of_memory(here.db, memory_id)
    results = [await run_one(here, each, run) for each in found]
    return [each for each in results if each is not None]


async def run_one(here: Context, each: MemoryCheck, run: RunCommand) -> VerificationResult | None:
    """Run one attached check and apply its verdict; an unknown outcome changes nothing."""
    async with reading(here.db):
        memory = await memories.get(here.db, each.memory_id)
        answer = None if each.command else await _check_result(here, each)
    if memory is None:
        return None
    if each.command:
        answer = await _run_command(each.command, run)
    assert answer is not None
    answer = Answer(answer.state, here.redact(answer.source), here.redact(answer.detail))
    result = None
    if answer.state is not AnswerState.UNKNOWN and memory.active:
        result = await apply_verdict(here, memory, _verdict(memory, each, answer))
    async with writing(here.db):
        state = _STATES[answer.state]
        await attached.record(here.db, each, state, answer.detail, now=here.now())
    return result


_STATES: Final = {
    AnswerState.CONFIRMED: VerdictState.PASSED.value,
    AnswerState.REFUTED: VerdictState.FAILED.value,
    AnswerState.UNKNOWN: "unknown",
}


def _verdict(memory: Memory, each: MemoryCheck, answer: Answer) -> Verdict:
    """Return a verdict on the whole text: a person attached this check to test the memory."""
    claim = TextClaim(ClaimKind.CHECK, each.source, text=memory.observation)
    passed = answer.state is AnswerState.CONFIRMED
    state = VerdictState.PASSED if passed else VerdictState.FAILED
    return Verdict(state, (ClaimFinding(claim, answer),))


async def _run_command(command: str, run: RunCommand) -> Answer:
    try:
        return await run(command)
    except LamplighterError as error:
        return Answer(AnswerState.UNKNOWN, "command", str(error))


async def _check_result(here: Context, each: MemoryCheck) -> Answer:
    """Answer with the last result of a declared check, if it is recent."""
    recent = await checks.recent(here.db, each.service or "", each.check or "", limit=1)
    oldest = here.now() - max(timedelta(seconds=each.cadence), CHECK_MARGIN)
    if not recent or recent[0].at is None or recent[0].at < oldest:
        return Answer(AnswerState.UNKNOWN, "check results", f"{each.source}: no recent result")
    state = AnswerState.CONFIRMED if recent[0].ok else AnswerState.REFUTED
    detail = recent[0].detail or ("passed" if recent[0].ok else "failed")
    return Answer(state, "check results", f"{each.source}: {detail}")


def _declared_check(services: Services, service: str, check: str) -> tuple[str, str]:
    declared = services.find(service)
    if declared is None:
        raise Invalid(InvalidField("service", f"{service} is not declared in services.yaml"))
    names = [each.name for each in declared.checks]
    if check not in names:
        known = ", ".join(names) or "none"
        raise Invalid(
            InvalidField("check", f"{declared.name} has no check {check}; it has {known}")
        )
    return declared.name, check
