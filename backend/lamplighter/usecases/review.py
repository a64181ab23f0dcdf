"""Review: two claims contradict each other, and a person decides."""

from dataclasses import replace
from datetime import datetime

from lamplighter.domain.admit import Redact, admitted_edit
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale, Wrong
from lamplighter.domain.memory import MAX_OBSERVATION_CHARS, Edit, Memory, MemoryId
from lamplighter.domain.review import (
    MERGED_INTO,
    SUPERSEDES,
    Answer,
    Resolution,
    Review,
    ReviewKind,
    ReviewState,
    judged,
    scoped,
    wrong_words,
)
from lamplighter.domain.text import one_line, without_private
from lamplighter.domain.undo import REVIEW, UNDONE, in_force
from lamplighter.repository import Database, history, links, memories, reviews, writing
from lamplighter.usecases.curate import OPERATOR
from lamplighter.usecases.fade import apply_due
from lamplighter.usecases.undo import take_back


async def open_review(
    db: Database,
    kind: ReviewKind,
    old: Memory,
    new_id: MemoryId,
    *,
    said: str,
    reason: str,
    session_id: int | None,
    now: datetime,
) -> Review:
    """Ask a person which of two memories is true; the case that is open for the pair stays.

    `new_id` is the memory that holds the new claim now, `said` the words it was said in.
    """
    async with writing(db):
        return await reviews.insert(
            db, kind, old, new_id, said=said, reason=reason, session_id=session_id, now=now
        )


async def get(db: Database, number: int) -> Review:
    """Return a review; raises NotFound."""
    review = await reviews.get(db, number)
    if review is None:
        raise NotFound(f"There is no review {number}.")
    return review


async def resolve(
    db: Database,
    number: int,
    answer: Answer,
    *,
    version: int | None,
    now: datetime,
    redact: Redact,
) -> Review:
    """Do what a person decided; raises NotFound, Invalid, Stale, Conflict when it is too late."""
    async with writing(db):
        review = await _expected(db, number, version)
        if review.state is not ReviewState.OPEN:
            raise Conflict(f"Review {number} was resolved already: {review.resolution}.")
        old, new = await _both(db, review)
        answer = _admitted(answer, old, new, redact)
        if answer.gives_back:
            old = await _give_back(db, review, old, now=now)
        old, new = await apply_due(db, [old, new], now=now)
        verdict = judged(review, answer, old, new, now=now)
        for move in verdict.moves:
            await memories.update(db, move.after, now=now)
            why = history.Why(cause=REVIEW, actor=OPERATOR, reason=move.reason, review_id=review.id)
            await history.append(db, move.before, move.after, why, now=now)
        if verdict.link is not None:
            await links.insert(db, *verdict.link, session_id=None, now=now)
        return await reviews.settle(db, review, answer.resolution, by=OPERATOR, now=now)


async def reopen(db: Database, number: int, *, version: int | None, now: datetime) -> Review:
    """Take a resolution back whole; raises NotFound, Stale, and Conflict saying what hinders it."""
    async with writing(db):
        review = await _expected(db, number, version)
        if review.state is ReviewState.OPEN:
            raise Conflict(f"Review {number} is not resolved.")
        if review.resolution is Resolution.GONE:
            raise Conflict("A memory of it was deleted for good; its words are gone.")
        other = await reviews.open_for(db, review.old_id, review.new_id)
        if other is not None:
            raise Conflict(f"Review {other.id} is open for the same two memories.")
        await _both(db, review)
        for step in reversed(await history.of_review(db, review.id)):
            await _take_back(db, review, step, now=now)
        await _unlink(db, review)
        return await reviews.reopen(db, review, now=now)


async def made_by(db: Database, review: Review) -> list[history.Entry]:
    """Return the changes that the resolution in force made, oldest first."""
    found: list[history.Entry] = []
    for step in await history.of_review(db, review.id):
        if in_force(step, await history.undos(db, step.memory_id, step.id)) is not None:
            found.append(step)
    return found


async def _expected(db: Database, number: int, version: int | None) -> Review:
    review = await get(db, number)
    if version is not None and version != review.version:
        raise Stale(review)
    return review


async def _both(db: Database, review: Review) -> tuple[Memory, Memory]:
    held = await memories.several(db, [review.old_id, review.new_id])
    gone = [number for number in (review.old_id, review.new_id) if number not in held]
    if gone:
        raise Conflict(f"Memory {gone[0]} is gone.")
    return held[review.old_id], held[review.new_id]


def _admitted(answer: Answer, old: Memory, new: Memory, redact: Redact) -> Answer:
    answer = replace(
        answer,
        old_scope=one_line(redact(without_private(answer.old_scope))),
        new_scope=one_line(redact(without_private(answer.new_scope))),
    )
    sides = (("old_scope", old, answer.old_scope), ("new_scope", new, answer.new_scope))
    wrong = [
        Wrong(name, f"makes it longer than {MAX_OBSERVATION_CHARS:,} characters")
        for name, memory, scope in sides
        if len(scoped(memory.observation, scope)) > MAX_OBSERVATION_CHARS and scope
    ]
    wrong += wrong_words(answer)
    if wrong:
        raise Invalid(*wrong)
    if not answer.observation:
        return answer
    edit = admitted_edit(Edit(observation=answer.observation), old.category, redact)
    return replace(answer, observation=edit.observation or "")


async def _give_back(db: Database, review: Review, old: Memory, *, now: datetime) -> Memory:
    """Undo what contradictions took from the old memory, but for what it has back already.

    Each session that said the new claim has taken its part since the review was opened.
    """
    number, by = review.id, review.session_id
    at = review.created_at if review.kind is ReviewKind.CONFLICT else None
    taken = await history.contradicted(db, old.id, review_id=number, session_id=by, at=at)
    for each in reversed(taken):
        step = in_force(each, await history.undos(db, old.id, each.id))
        if step is not None:
            old = await take_back(db, old, step, now=now, cause=REVIEW, review_id=number)
    return old


async def _take_back(db: Database, review: Review, made: history.Entry, *, now: datetime) -> None:
    step = in_force(made, await history.undos(db, made.memory_id, made.id))
    memory = await memories.get(db, made.memory_id)
    if step is not None and memory is not None:
        await take_back(db, memory, step, cause=UNDONE, review_id=review.id, now=now)


async def _unlink(db: Database, review: Review) -> None:
    assert review.resolved_at is not None
    old, new = review.old_id, review.new_id
    for link in ((old, new, SUPERSEDES), (new, old, SUPERSEDES), (new, old, MERGED_INTO)):
        await links.remove(db, *link, made_at=review.resolved_at)
