"""Two claims contradict each other, and a person decides."""

import json
from dataclasses import replace

from examples import LATER, NOON, rows, said, session

from lamplighter.domain.memory import Memory
from lamplighter.domain.review import Resolution, Review, ReviewKind, ReviewState
from lamplighter.domain.session import Session
from lamplighter.repository import Database, reviews, writing
from lamplighter.repository.reviews import Filter
from lamplighter.usecases import curate
from lamplighter.usecases.review import open_review

FAST = "Takes 5s to start after restart"
WHY = "60s is not 5s"


async def claims(db: Database) -> tuple[Memory, Memory, Session]:
    """Let one session learn what another one then says otherwise."""
    old = (await said(db, await session(db))).memory
    later = await session(db)
    return old, (await said(db, later, observation=FAST)).memory, later


async def opened(
    db: Database, old: Memory, new: Memory, by: Session, kind: ReviewKind = ReviewKind.CONFLICT
) -> Review:
    said, why = new.observation, f"{WHY}: {old.observation}"
    return await open_review(
        db, kind, old, new.id, said=said, reason=why, session_id=by.id, now=NOON
    )


async def dismissed(db: Database, review: Review) -> Review:
    async with writing(db):
        return await reviews.settle(db, review, Resolution.DISMISS, by="operator", now=NOON)


async def test_a_review_is_told_with_both_memories(db: Database) -> None:
    old, new, by = await claims(db)

    review = await opened(db, old, new, by)

    assert (review.state, review.said) == (ReviewState.OPEN, FAST)
    assert (review.service, review.category, review.version) == ("jellyfin", "timing", 1)
    assert await reviews.get(db, review.id) == review
    told = (await rows(db, "changes"))[-1]
    assert (told["entity"], told["op"], told["entity_id"]) == ("review", "created", review.id)
    row = json.loads(told["row"])
    assert (row["old"]["id"], row["new"]["id"], row["new"]["observation"]) == (old.id, new.id, FAST)


async def test_a_pair_has_one_open_review_whichever_of_them_spoke_first(db: Database) -> None:
    old, new, by = await claims(db)

    first = await opened(db, old, new, by)

    assert await opened(db, new, old, by) == first
    assert await opened(db, old, new, by, ReviewKind.POSSIBLE) == first
    assert await reviews.count(db, Filter()) == 1


async def test_those_that_wait_the_longest_come_first_and_the_decided_newest_first(
    db: Database,
) -> None:
    old, _, by = await claims(db)
    made = []
    for number in range(5):
        other = await said(db, by, observation=f"Takes {number} minutes")
        made.append(await opened(db, old, other.memory, by))
    done = [await dismissed(db, each) for each in made[:2]]

    waiting = Filter(state=ReviewState.OPEN)
    first = await reviews.page(db, waiting, limit=2)
    rest = await reviews.page(db, waiting, limit=2, position=first.position)
    decided = await reviews.page(db, Filter(state=ReviewState.RESOLVED), limit=9)

    assert (first.items + rest.items, rest.position) == (made[2:], None)
    assert decided.items == done[::-1]
    assert await reviews.count(db, waiting) == 3
    assert await reviews.count(db, Filter(service="general")) == 0
    assert await reviews.count(db, Filter(service="jellyfin", kind=ReviewKind.CONFLICT)) == 5


async def test_deleting_a_memory_ends_its_reviews_and_every_copy_of_its_words(
    db: Database,
) -> None:
    old, new, by = await claims(db)
    third = (await said(db, by, observation="Takes an hour")).memory
    waiting = await opened(db, old, new, by)
    decided = await dismissed(db, await opened(db, old, third, by))

    await curate.delete(db, new.id, version=None, now=LATER)

    assert await reviews.get(db, waiting.id) == replace(
        waiting,
        state=ReviewState.RESOLVED,
        resolution=Resolution.GONE,
        resolved_by="deletion",
        resolved_at=LATER,
        said="",
        reason="",
        version=2,
    )
    assert await reviews.get(db, decided.id) == decided
    assert FAST not in await words_kept(db)

    await curate.delete(db, old.id, version=None, now=LATER)

    assert old.observation not in await words_kept(db)
    left = replace(decided, reason="", version=3)  # what was decided stays decided
    assert await reviews.get(db, decided.id) == left


async def words_kept(db: Database) -> str:
    tables = ("memories", "history", "changes", "reviews")
    return str([await rows(db, table) for table in tables])
