"""Reviews: two memories contradict each other, and a person decides."""

from dataclasses import replace
from datetime import datetime

from lamplighter.domain.errors import (
    Conflict,
    Invalid,
    InvalidField,
    expect_version,
    require,
)
from lamplighter.domain.memory.admit import Redact, admit_edit
from lamplighter.domain.memory.decay import apply_decay, decay_changes
from lamplighter.domain.memory.intents import Intent, MemoryChange, MemoryLink
from lamplighter.domain.memory.memory import (
    MAX_OBSERVATION_CHARS,
    Edit,
    Memory,
)
from lamplighter.domain.memory.review import (
    DELETION,
    Resolution,
    Review,
    ReviewAnswer,
    ReviewKind,
    ReviewState,
    add_scope,
    resolve_review,
    validate_review_answer,
)
from lamplighter.domain.memory.undo import REVIEW, step_to_undo
from lamplighter.domain.text import one_line, without_private
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.memory import history, memories, reviews
from lamplighter.repository.writes import store
from lamplighter.usecases.access.recording import OPERATOR, Recording, recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import undo
from lamplighter.usecases.memory.undo import revert_step


async def get(db: Database, number: int) -> Review:
    """Return a review; raises NotFound."""
    return require(await reviews.get(db, number), f"Review {number} not found.")


async def resolve(
    here: Context, number: int, answer: ReviewAnswer, *, version: int | None
) -> Review:
    """Apply a person's resolution; raises NotFound, Invalid, Stale, and Conflict.

    Conflict: the review is already resolved, a memory was deleted, or a later change prevents it.
    """
    db, now = here.db, here.now()
    async with recording(db, "review", now=now, review_id=number) as act:
        review = expect_version(await get(db, number), version)
        if review.state is not ReviewState.OPEN:
            raise Conflict(f"Review {number} was already resolved: {review.resolution}.")
        old, new = await _both_memories(db, review)
        answer = _admitted(answer, review.kind, (old, new), here.redact)
        taking = review.kind not in (ReviewKind.FACT, ReviewKind.RELATIONSHIP)
        if answer.gives_back and taking:
            old = await _restore_confidence(db, review, old, act, now=now)
        intents: list[Intent] = [*decay_changes([old, new], now=now, act_id=act.id)]
        old, new = (apply_decay(each, now=now) for each in (old, new))
        verdict = resolve_review(review, answer, old, new, now=now)
        for move in verdict.moves:
            why = act.why(REVIEW, move.reason, review_id=review.id)
            intents.append(MemoryChange(move.before, move.after, why))
        if verdict.link is not None:
            intents.append(MemoryLink(*verdict.link, act_id=act.id))
        await store(db, intents, now=now)
        act.did(rows=1 + len(verdict.moves))
        return await reviews.resolve(db, review, answer.resolution, by=OPERATOR, now=now)


async def reopen(db: Database, number: int, *, version: int | None, now: datetime) -> Review:
    """Undo a resolution; raises NotFound, Stale, and Conflict with the obstacle."""
    async with writing(db):
        review = expect_version(await get(db, number), version)
        if review.state is ReviewState.OPEN:
            raise Conflict(f"Review {number} is not resolved.")
        if review.resolution is Resolution.GONE and review.resolved_by != DELETION:
            raise Conflict("The run of the organizer or the edit that opened it was undone.")
        if review.resolution is Resolution.GONE:
            raise Conflict("One of its memories was deleted. Restore it from the trash first.")
        act = await journal.resolution(db, number)
        if act is None:
            raise Conflict(f"There is no record of how review {number} was resolved.")
        await undo(db, act.id, now=now)
        return await get(db, number)


async def changes_of_resolution(db: Database, review: Review) -> list[history.HistoryRecord]:
    """Return the changes of the active resolution, oldest first."""
    found: list[history.HistoryRecord] = []
    for step in await history.of_review(db, review.id):
        if step_to_undo(step, await history.undos_after(db, step.memory_id, step.id)) is not None:
            found.append(step)
    return found


async def _both_memories(db: Database, review: Review) -> tuple[Memory, Memory]:
    held = await memories.by_ids(db, [review.old_id, review.new_id])
    gone = [number for number in (review.old_id, review.new_id) if number not in held]
    if gone:
        raise Conflict(f"Memory {gone[0]} was deleted.")
    return held[review.old_id], held[review.new_id]


def _admitted(
    answer: ReviewAnswer, kind: ReviewKind, pair: tuple[Memory, Memory], redact: Redact
) -> ReviewAnswer:
    old, new = pair
    answer = replace(
        answer,
        old_scope=one_line(redact(without_private(answer.old_scope))),
        new_scope=one_line(redact(without_private(answer.new_scope))),
    )
    sides = (("old_scope", old, answer.old_scope), ("new_scope", new, answer.new_scope))
    wrong = [
        InvalidField(
            name, f"makes the observation longer than {MAX_OBSERVATION_CHARS:,} characters"
        )
        for name, memory, scope in sides
        if len(add_scope(memory.observation, scope)) > MAX_OBSERVATION_CHARS and scope
    ]
    wrong += validate_review_answer(answer, kind)
    if wrong:
        raise Invalid(*wrong)
    if not answer.observation:
        return answer
    edit = admit_edit(Edit(observation=answer.observation), old.category, redact)
    return replace(answer, observation=edit.observation or "")


async def _restore_confidence(
    db: Database, review: Review, old: Memory, act: Recording, *, now: datetime
) -> Memory:
    """Restore the confidence that contradictions took from the old memory, unless already restored.

    Each session that reported the new claim has lowered it since the review was opened.
    """
    number, by = review.id, review.session_id
    at = review.created_at if review.kind is ReviewKind.CONFLICT else None
    taken = await history.contradictions_by(db, old.id, review_id=number, session_id=by, at=at)
    for each in reversed(taken):
        step = step_to_undo(each, await history.undos_after(db, old.id, each.id))
        if step is not None:
            old = await revert_step(db, old, step, now=now, act=act, review_id=number)
    return old
