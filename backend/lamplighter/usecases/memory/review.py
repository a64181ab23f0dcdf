"""Review: two claims contradict each other, and a person decides."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale, Wrong
from lamplighter.domain.memory.admit import Redact, admitted_edit
from lamplighter.domain.memory.memory import (
    MAX_OBSERVATION_CHARS,
    Candidate,
    Edit,
    Memory,
    MemoryId,
)
from lamplighter.domain.memory.review import (
    Answer,
    Resolution,
    Review,
    ReviewKind,
    ReviewState,
    judged,
    scoped,
    wrong_words,
)
from lamplighter.domain.memory.undo import REVIEW, in_force
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import GENERAL
from lamplighter.domain.text import one_line, without_private
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.memory import history, links, memories, reviews
from lamplighter.repository.services import events
from lamplighter.usecases.access.recording import OPERATOR, Recording, recording
from lamplighter.usecases.memory.fade import apply_due
from lamplighter.usecases.memory.journal import undo
from lamplighter.usecases.memory.undo import take_back

MOST_POSSIBLE: Final = 20
FULL: Final = "{} possible conflicts wait for review; more are learned without a question"


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


async def open_possible(
    db: Database, candidate: Candidate, old: Memory, new_id: MemoryId, *, reason: str, now: datetime
) -> None:
    """Ask a person whether two memories conflict; for each service at most MOST_POSSIBLE wait.

    What is beyond is learned without a question, and one event says so.
    """
    wanted = reviews.Filter(
        state=ReviewState.OPEN, service=old.service or GENERAL, kind=ReviewKind.POSSIBLE
    )
    if await reviews.count(db, wanted) >= MOST_POSSIBLE:
        text = FULL.format(MOST_POSSIBLE)
        if not await events.recorded_after(db, text, old.service, await reviews.newest(db, wanted)):
            await events.insert(
                db,
                Level.WARNING,
                text,
                service=old.service,
                session_id=candidate.session_id,
                source="supervisor",
                now=now,
            )
        return
    await open_review(
        db,
        ReviewKind.POSSIBLE,
        old,
        new_id,
        said=candidate.observation,
        reason=reason,
        session_id=candidate.session_id,
        now=now,
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
    async with recording(db, "review", now=now, review_id=number) as act:
        review = await _expected(db, number, version)
        if review.state is not ReviewState.OPEN:
            raise Conflict(f"Review {number} was resolved already: {review.resolution}.")
        old, new = await _both(db, review)
        answer = _admitted(answer, old, new, redact)
        if answer.gives_back:
            old = await _give_back(db, review, old, act, now=now)
        old, new = await apply_due(db, [old, new], now=now, act_id=act.id)
        verdict = judged(review, answer, old, new, now=now)
        for move in verdict.moves:
            await memories.update(db, move.after, now=now)
            why = act.why(REVIEW, move.reason, review_id=review.id)
            await history.append(db, move.before, move.after, why, now=now)
        if verdict.link is not None:
            await links.insert(db, *verdict.link, session_id=None, now=now, act_id=act.id)
        act.did(rows=1 + len(verdict.moves))
        return await reviews.settle(db, review, answer.resolution, by=OPERATOR, now=now)


async def reopen(db: Database, number: int, *, version: int | None, now: datetime) -> Review:
    """Undo what was decided; raises NotFound, Stale, and Conflict saying what hinders it."""
    async with writing(db):
        review = await _expected(db, number, version)
        if review.state is ReviewState.OPEN:
            raise Conflict(f"Review {number} is not resolved.")
        if review.resolution is Resolution.GONE:
            raise Conflict("A memory of it was deleted: restore it from the trash first.")
        act = await journal.resolution(db, number)
        if act is None:
            raise Conflict(f"Nothing is recorded of how review {number} was resolved.")
        await undo(db, act.id, now=now)
        return await get(db, number)


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


async def _give_back(
    db: Database, review: Review, old: Memory, act: Recording, *, now: datetime
) -> Memory:
    """Undo what contradictions took from the old memory, but for what it has back already.

    Each session that said the new claim has taken its part since the review was opened.
    """
    number, by = review.id, review.session_id
    at = review.created_at if review.kind is ReviewKind.CONFLICT else None
    taken = await history.contradicted(db, old.id, review_id=number, session_id=by, at=at)
    for each in reversed(taken):
        step = in_force(each, await history.undos(db, old.id, each.id))
        if step is not None:
            old = await take_back(db, old, step, now=now, act=act, review_id=number)
    return old
