"""Verification: memories are tested against allow-listed sources, without a person.

A memory that passes is changed in one transaction with its history; one that fails opens a review
with the evidence; all others stay unchanged. The sources are queried outside of any transaction,
and an outcome counts only for the version that was tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from lamplighter.domain.errors import Conflict, require
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import ChangeOrigin, Intent, MemoryChange, ReviewOpening
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import Resolution, ReviewKind
from lamplighter.domain.sessions.session import CheckResult
from lamplighter.domain.verify.claims import ClaimKind, TextClaim, TextPart, clauses
from lamplighter.domain.verify.verdict import (
    VERIFIED,
    Answer,
    AnswerState,
    Verdict,
    VerdictState,
    evaluate,
    evidence,
    mark_verified,
)
from lamplighter.formats.serialize import Writer, format_moment
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import history, memories, reviews
from lamplighter.repository.services import checks
from lamplighter.repository.verify import verifications
from lamplighter.repository.verify.verifications import Verification
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import recording
from lamplighter.usecases.context import Context

RECENT: Final = timedelta(hours=2)
"""The age above which a check result says nothing about the present."""
REFRESH: Final = timedelta(days=1)
"""A memory that passed within this time does not change when it passes again."""
ACTOR: Final = "verification"


class Sources(Protocol):
    """Answers claims from files, repositories, services.yaml and the environment."""

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        """Return the answers to claims of a project; a claim may have no answer."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The outcome for one memory: `memory` is its current state, `reviews` are its open reviews.

    `skipped` is the reason if nothing was tested.
    """

    memory: Memory
    verdict: Verdict
    reviews: tuple[int, ...] = ()
    changed: bool = False
    skipped: str = ""


async def verify_memories(
    here: Context, sources: Sources, ids: Sequence[int], *, dry_run: bool = False
) -> list[VerificationResult]:
    """Verify memories in order; missing ones are left out.

    Each has its own short transaction: completed results remain if the process ends.
    """
    found = []
    for number in ids:
        result = await _verify(here, sources, number, dry_run=dry_run, by_person=False)
        if result is not None:
            found.append(result)
    return found


async def verify_memory(
    here: Context, sources: Sources, memory_id: int, *, dry_run: bool = False
) -> VerificationResult:
    """Verify one memory on request; raises NotFound, and Conflict for an inactive one."""
    memory = require(await memories.get(here.db, memory_id), f"Memory {memory_id} not found.")
    if not memory.active:
        raise Conflict(f"Memory {memory_id} is inactive. Activate it, then verify it.")
    return require(
        await _verify(here, sources, memory_id, dry_run=dry_run, by_person=True),
        f"Memory {memory_id} not found.",
    )


async def _verify(
    here: Context, sources: Sources, number: int, *, dry_run: bool, by_person: bool
) -> VerificationResult | None:
    async with reading(here.db):
        found = await memories.list_by_ids(here.db, [number])
        if not found:
            return None  # deleted, or a row that a person made unreadable
        memory = found[0]
        reverted = not by_person and await _is_reverted(here.db, memory)
    if not memory.active or reverted:
        why = "a person undid its verification" if reverted else "it is inactive"
        if not dry_run:
            await _skip(here, memory)
        return VerificationResult(memory, Verdict(VerdictState.UNTESTED), skipped=why)
    parts = clauses(memory.observation, service=memory.service)
    verdict = evaluate(parts, await _answers(here, sources, memory, parts))
    if dry_run:
        return VerificationResult(memory, verdict)
    return await apply_verdict(here, memory, verdict, by_person=by_person)


async def _answers(
    here: Context, sources: Sources, memory: Memory, parts: Sequence[TextPart]
) -> dict[TextClaim, Answer]:
    claims = list(dict.fromkeys(claim for part in parts for claim in part.claims))
    asked = [each for each in claims if each.kind not in (ClaimKind.HEALTH, ClaimKind.STATUS)]
    answers = await sources.answer(asked, project=memory.project) if asked else {}
    async with reading(here.db):
        answers |= await _answer_from_checks(
            here.db, [each for each in claims if each not in asked], now=here.now()
        )
    return {
        claim: Answer(each.state, here.redact(each.source), here.redact(each.detail))
        for claim, each in answers.items()
    }


async def apply_verdict(
    here: Context, memory: Memory, verdict: Verdict, *, by_person: bool = False
) -> VerificationResult:
    """Store a verdict for the tested version of a memory.

    A memory that was changed meanwhile is left unchanged and tested again later.
    """
    db, now = here.db, here.now()
    if by_person and verdict.state is VerdictState.PASSED:
        async with recording(db, "verify", now=now) as act:
            why = act.why(VERIFIED, verdict.evidence)
            result = await _apply(db, memory, verdict, why, now=now)
            if result.changed:
                act.did(memory.id)
            return result
    why = ChangeOrigin(cause=VERIFIED, actor=ACTOR, reason=verdict.evidence)
    async with writing(db):
        return await _apply(db, memory, verdict, why, now=now)


async def _apply(
    db: Database, tested: Memory, verdict: Verdict, why: ChangeOrigin, *, now: datetime
) -> VerificationResult:
    memory = await memories.get(db, tested.id)
    if memory is None or memory.version != tested.version:
        return VerificationResult(memory or tested, verdict, skipped="it was changed meanwhile")
    after, changed = memory, False
    opened: tuple[int, ...] = ()
    match verdict.state:
        case VerdictState.PASSED:
            after = await _pass(db, memory, why, now=now)
            changed = after is not memory
        case VerdictState.FAILED:
            opened = await _fail(db, memory, verdict, now=now)
    await verifications.put(db, _outcome(after, verdict, now=now))
    return VerificationResult(after, verdict, opened, changed)


async def _pass(db: Database, memory: Memory, why: ChangeOrigin, *, now: datetime) -> Memory:
    """Raise the confidence of a memory that passed, unless it passed within a day."""
    if memory.verified_at is not None and now - memory.verified_at < REFRESH:
        return memory
    intents: list[Intent] = [*decay_changes([memory], now=now, act_id=why.act_id)]
    before = apply_decay(memory, now=now)
    after = mark_verified(before, now=now)
    await store(db, [*intents, MemoryChange(before, after, why)], now=now)
    return after


async def _fail(
    db: Database, memory: Memory, verdict: Verdict, *, now: datetime
) -> tuple[int, ...]:
    """Open a review for each refuted claim, unless a person has judged the same evidence."""
    judged = {
        (each.observation, each.reason)
        for each in await reviews.judged_claims(db, memory.id)
        if each.resolution is not Resolution.GONE
    }
    refuted = [each for each in verdict.findings if each.answer.state is AnswerState.REFUTED]
    for each in refuted:
        claim, reason = each.claim.name, evidence(each)
        if (claim, reason) not in judged:
            why = ChangeOrigin(cause=VERIFIED, actor=ACTOR, reason=reason)
            opening = ReviewOpening(
                kind=ReviewKind.VERIFICATION,
                before=memory,
                after=memory,
                new_id=memory.id,
                text=claim,
                why=why,
            )
            await store(db, [opening], now=now)
    return tuple(await reviews.open_claims(db, memory.id))


async def _skip(here: Context, memory: Memory) -> None:
    """Record an outcome, to let the schedule continue with the next memory."""
    async with writing(here.db):
        held = await memories.get(here.db, memory.id)
        if held is not None:
            outcome = _outcome(held, Verdict(VerdictState.UNTESTED), now=here.now())
            await verifications.put(here.db, outcome)


def _outcome(memory: Memory, verdict: Verdict, *, now: datetime) -> Verification:
    return Verification(
        memory_id=memory.id,
        state=verdict.state,
        version=memory.version,
        evidence=tuple(each.as_json() for each in verdict.findings),
        untested=verdict.untested,
        checked_at=now,
    )


async def _is_reverted(db: Database, memory: Memory) -> bool:
    """Whether a person undid the last verification, and the text is still the same."""
    if memory.verified_at is not None:
        return False
    for step in reversed(await history.undos_after(db, memory.id, 0)):
        before, after = step.before or {}, step.after or {}
        if before.get("verified_at") and not after.get("verified_at"):
            return bool(after["observation"] == memory.observation)
    return False


async def _answer_from_checks(
    db: Database, claims: Sequence[TextClaim], *, now: datetime
) -> dict[TextClaim, Answer]:
    """Answer claims about health and status from the last result of each check."""
    answers: dict[TextClaim, Answer] = {}
    for claim in claims:
        recent = [
            each
            for each in await checks.latest_of_service(db, claim.subject)
            if each.at is not None and now - each.at <= RECENT
        ]
        if recent:
            judge = _health if claim.kind is ClaimKind.HEALTH else _status
            if (answered := judge(claim, recent)) is not None:
                answers[claim] = answered
    return answers


def _health(claim: TextClaim, results: Sequence[CheckResult]) -> Answer | None:
    failing = [each for each in results if not each.ok]
    if failing:
        detail = f"{failing[0].name} of {failing[0].service} fails: {failing[0].detail}"
        return Answer(AnswerState.REFUTED, "check results", detail)
    names = ", ".join(each.name for each in results)
    return Answer(AnswerState.CONFIRMED, "check results", f"{names} of {claim.subject} pass")


def _status(claim: TextClaim, results: Sequence[CheckResult]) -> Answer | None:
    """Compare statuses; one matching check is enough, because others may expect another status."""
    answered = [each for each in results if each.status is not None]
    same = [each for each in answered if str(each.status) == claim.value]
    if same:
        detail = f"{same[0].name} of {same[0].service} answered {same[0].status}"
        return Answer(AnswerState.CONFIRMED, "check results", detail)
    if len(answered) == 1 and answered[0].ok:
        detail = f"{answered[0].name} of {answered[0].service} answered {answered[0].status}"
        return Answer(AnswerState.REFUTED, "check results", detail)
    return None


def result_as_json(result: VerificationResult) -> dict[str, Any]:
    """Return the outcome for one memory."""
    verdict = result.verdict
    return {
        "memory_id": result.memory.id,
        "observation": result.memory.observation,
        "state": verdict.state.value,
        "changed": result.changed,
        "skipped": result.skipped,
        "evidence": [each.as_json() for each in verdict.findings],
        "untested": list(verdict.untested),
        "reviews": list(result.reviews),
        "verified_at": format_moment(result.memory.verified_at),
        "confidence": result.memory.confidence,
    }


outcome_as_json: Final = Writer[Verification]()
"""Return the stored outcome of a memory as JSON."""
