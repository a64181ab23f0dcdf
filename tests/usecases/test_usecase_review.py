"""Two claims contradict each other, and a person decides."""

import asyncio
import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from examples import LATER, NOON, SECRETIVE, SLOW_START, believed, rows, said, session

from confidences import DOWN, UP, after
from contexts import context
from lamplighter.domain.errors import Conflict, Invalid, Stale
from lamplighter.domain.memory.intents import MemoryLink
from lamplighter.domain.memory.memory import Edit, InactiveReason, Memory, with_confidence
from lamplighter.domain.memory.review import (
    Resolution,
    Review,
    ReviewAnswer,
    ReviewKind,
    ReviewState,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, links, memories, reviews
from lamplighter.repository.memory.history import ChangeOrigin
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.usecases.access.recording import recorded
from lamplighter.usecases.memory import curate, journal, lookup
from lamplighter.usecases.memory.review import changes_of_resolution, reopen, resolve
from lamplighter.usecases.memory.undo import undo_step

FAST = "Takes 5s to start after restart"
WHY = "60s is not 5s"


async def claims(db: Database) -> tuple[Memory, Memory, Session]:
    """Let one session report an observation, and a later session a conflicting one."""
    old = await believed(db, await session(db))
    later = await session(db)
    return old, await believed(db, later, observation=FAST), later


async def opened(
    db: Database, old: Memory, new: Memory, by: Session, kind: ReviewKind = ReviewKind.CONFLICT
) -> Review:
    said, why = new.observation, f"{WHY}: {old.observation}"
    async with writing(db):
        return await reviews.insert(
            db, kind, old, new.id, text=said, reason=why, session_id=by.id, now=NOON
        )


async def dismissed(db: Database, review: Review) -> Review:
    async with writing(db):
        return await reviews.resolve(db, review, Resolution.DISMISS, by="operator", now=NOON)


async def test_review_is_recorded_in_the_feed_with_both_memories(db: Database) -> None:
    old, new, by = await claims(db)

    review = await opened(db, old, new, by)

    assert (review.state, review.observation) == (ReviewState.OPEN, FAST)
    assert (review.service, review.category, review.version) == ("jellyfin", "timing", 1)
    assert await reviews.get(db, review.id) == review
    told = (await rows(db, "changes"))[-1]
    assert (told["entity"], told["op"], told["entity_id"]) == ("review", "created", review.id)
    row = json.loads(told["row"])
    assert (row["old"]["id"], row["new"]["id"], row["new"]["observation"]) == (old.id, new.id, FAST)


async def test_decision_on_an_earlier_text_of_a_memory_is_refused(db: Database) -> None:
    old, new, by = await claims(db)
    review = await opened(db, old, new, by)
    here = context(db, LATER)
    await curate.edit(here, old.id, Edit(observation="Takes 90s to start"), version=None)
    await curate.edit(here, old.id, Edit(confidence=0.9), version=None)

    merge = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes 5s to 60s")
    with pytest.raises(Stale):
        await resolve(here, review.id, merge, version=review.version)

    now_is = await reviews.get(db, review.id)
    assert now_is is not None
    assert (now_is.state, now_is.version) == (ReviewState.OPEN, review.version + 1)
    [told] = [
        json.loads(each["row"])["old"]["observation"]
        for each in await rows(db, "changes")
        if (each["entity"], each["op"]) == ("review", "updated")
    ]
    assert told == "Takes 90s to start"
    merge = replace(merge, observation="Takes 5s to 90s")
    resolved = await resolve(here, review.id, merge, version=now_is.version)
    assert resolved.version == now_is.version + 1, "its own decision counts once"


async def test_merged_memory_keeps_the_pin_and_the_tags_of_both(db: Database) -> None:
    old, new, by = await claims(db)
    review = await opened(db, old, new, by)
    here = context(db, LATER)
    await curate.edit(here, old.id, Edit(tags=("boot", "disk")), version=None)
    await curate.edit(here, new.id, Edit(tags=("disk", "ssd"), pinned=True), version=None)

    merge = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes 5s to 60s")
    await resolve(here, review.id, merge, version=review.version)

    merged = await lookup.get(db, old.id)
    assert (merged.tags, merged.pinned) == (("boot", "disk", "ssd"), True)
    await reopen(db, review.id, version=None, now=LATER)
    restored = await lookup.get(db, old.id)
    assert (restored.tags, restored.pinned) == (("boot", "disk"), False)


async def test_merged_memory_has_no_more_tags_than_a_person_may_save(db: Database) -> None:
    old, new, by = await claims(db)
    review = await opened(db, old, new, by)
    here = context(db, LATER)
    for each, word in ((old, "old"), (new, "new")):
        tags = tuple(f"{word}-{number}" for number in range(15))
        await curate.edit(here, each.id, Edit(tags=tags), version=None)

    merge = ReviewAnswer(resolution=Resolution.MERGE, observation="Takes 5s to 60s")
    await resolve(here, review.id, merge, version=review.version)

    merged = await lookup.get(db, old.id)
    assert len(merged.tags) == 20
    await curate.edit(here, old.id, Edit(title="Start", tags=merged.tags), version=None)


async def test_pair_has_one_open_review_in_either_order(db: Database) -> None:
    old, new, by = await claims(db)

    first = await opened(db, old, new, by)

    assert await opened(db, new, old, by) == first
    assert await opened(db, old, new, by, ReviewKind.POSSIBLE) == first
    assert await reviews.count(db, ReviewFilter()) == 1


async def test_open_reviews_are_listed_oldest_first_and_resolved_newest_first(
    db: Database,
) -> None:
    old, _, by = await claims(db)
    made = []
    for number in range(5):
        other = await believed(db, by, observation=f"Takes {number} minutes")
        made.append(await opened(db, old, other, by))
    done = [await dismissed(db, each) for each in made[:2]]

    waiting = ReviewFilter(state=ReviewState.OPEN)
    first = await reviews.page(db, waiting, limit=2)
    rest = await reviews.page(db, waiting, limit=2, position=first.position)
    decided = await reviews.page(db, ReviewFilter(state=ReviewState.RESOLVED), limit=9)

    assert (first.items + rest.items, rest.position) == (made[2:], None)
    assert decided.items == done[::-1]
    assert await reviews.count(db, waiting) == 3
    assert await reviews.count(db, ReviewFilter(service="general")) == 0
    assert await reviews.count(db, ReviewFilter(service="jellyfin", kind=ReviewKind.CONFLICT)) == 5


async def test_deleting_a_memory_closes_its_reviews_and_removes_its_text(
    db: Database,
) -> None:
    old, new, by = await claims(db)
    third = await believed(db, by, observation="Takes an hour")
    waiting = await opened(db, old, new, by)
    done = await dismissed(db, await opened(db, old, third, by))

    await curate.delete(db, new.id, version=None, now=LATER)

    assert await reviews.get(db, waiting.id) == replace(
        waiting,
        state=ReviewState.RESOLVED,
        resolution=Resolution.GONE,
        resolved_by="deletion",
        resolved_at=LATER,
        version=2,
    )
    assert await reviews.get(db, done.id) == done
    await journal.purge(db, new.id, now=LATER)
    emptied = await reviews.get(db, waiting.id)
    assert emptied is not None
    assert (emptied.observation, emptied.reason, emptied.version) == ("", "", 3)
    assert FAST not in await words_kept(db)

    await curate.delete(db, old.id, version=None, now=LATER)
    await journal.purge(db, old.id, now=LATER)

    assert old.observation not in await words_kept(db)
    left = replace(done, reason="", version=3)  # what was decided stays decided
    assert await reviews.get(db, done.id) == left


async def words_kept(db: Database) -> str:
    tables = ("memories", "history", "changes", "reviews", "trash")
    return str([await rows(db, table) for table in tables])


DECISIONS = {
    "keep old": ReviewAnswer(resolution=Resolution.KEEP_OLD),
    "keep new": ReviewAnswer(resolution=Resolution.KEEP_NEW),
    "both": ReviewAnswer(resolution=Resolution.BOTH, old_scope="from disk", new_scope="from cache"),
    "both, one scope": ReviewAnswer(resolution=Resolution.BOTH, new_scope="from cache"),
    "merge": ReviewAnswer(resolution=Resolution.MERGE, observation="Takes 5s to 60s"),
    "dismiss": ReviewAnswer(resolution=Resolution.DISMISS),
}
OLD, NEW = SLOW_START.observation, FAST
# what the old one is then, what the new one is, and how they are linked
ASIDE = (False, InactiveReason.SUPERSEDED)
HERE = (True, None)
OUTCOMES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], list[tuple[str, str, str]]]] = {
    "keep old": ((OLD, 0.7, *HERE), (NEW, 0.7, *ASIDE), [("old", "new", "supersedes")]),
    "keep new": ((OLD, 0.5, *ASIDE), (NEW, 0.7, *HERE), [("new", "old", "supersedes")]),
    "both": ((f"{OLD} (from disk)", 0.7, *HERE), (f"{NEW} (from cache)", 0.7, *HERE), []),
    "both, one scope": ((OLD, 0.7, *HERE), (f"{NEW} (from cache)", 0.7, *HERE), []),
    "merge": (("Takes 5s to 60s", 0.7, *HERE), (NEW, 0.7, *ASIDE), [("new", "old", "merged_into")]),
    "dismiss": ((OLD, 0.5, *HERE), (NEW, 0.7, *HERE), []),
}
every = pytest.mark.parametrize("decision", DECISIONS)


async def contradicted(db: Database, *, confidence: float = 0.7) -> tuple[Memory, Memory, Review]:
    """Let a session contradict another session's memory, in the same way as `remember`."""
    first = await session(db)
    old = await believed(db, first, confidence=confidence)
    by = await session(db)
    new = await believed(db, by, observation=FAST)
    async with writing(db):
        lower = await weakened(db, old, by)
        await links.insert(db, MemoryLink(new.id, old.id, "contradicts", by.id), now=NOON)
        review = await opened(db, lower, new, by)
    return lower, new, review


async def weakened(db: Database, old: Memory, by: Session, *, now: datetime = NOON) -> Memory:
    async with writing(db):
        lower = with_confidence(old, old.confidence + DOWN)
        lower = replace(lower, version=old.version + 1)
        await memories.update(db, lower, now=now)
        why = ChangeOrigin(cause="contradicted", actor="session", session_id=by.id)
        await history.append(db, old, lower, why, now=now)
        return lower


async def decided(
    db: Database, review: Review, decision: str, *, version: int | None = None
) -> Review:
    answer = DECISIONS[decision]
    return await resolve(context(db, LATER), review.id, answer, version=version)


async def undone(db: Database, review: Review, *, version: int | None = None) -> Review:
    return await reopen(db, review.id, version=version, now=LATER)


async def now_is(db: Database, memory: Memory) -> Memory:
    return await lookup.get(db, memory.id)


async def raised(db: Database, memory: Memory, **more: Any) -> Memory:
    return await curate.edit(context(db, LATER), memory.id, Edit(**more), version=None)


def told(memory: Memory) -> tuple[Any, ...]:
    return memory.observation, memory.confidence, memory.active, memory.inactive_reason


async def linked(db: Database, old: Memory, new: Memory) -> list[tuple[str, str, str]]:
    names = {old.id: "old", new.id: "new"}
    return [
        (names[memory.id], names[target], what)
        for memory in (old, new)
        for target, what in await links.of_memory(db, memory.id)
        if what != "contradicts"
    ]


@every
async def test_each_resolution_changes_both_memories_as_declared(
    db: Database, decision: str
) -> None:
    old, new, review = await contradicted(db)

    after = await decided(db, review, decision, version=1)

    state = (after.state, after.resolution, after.resolved_by, after.resolved_at, after.version)
    resolution = DECISIONS[decision].resolution
    assert state == (ReviewState.RESOLVED, resolution, "operator", LATER, 2)
    assert after == await reviews.get(db, review.id)
    wanted_old, wanted_new, wanted_links = OUTCOMES[decision]
    assert (told(await now_is(db, old)), told(await now_is(db, new))) == (wanted_old, wanted_new)
    assert await linked(db, old, new) == wanted_links
    made = await changes_of_resolution(db, after)
    assert {(each.cause, each.actor, each.review_id) for each in made} <= {
        ("review", "operator", review.id)
    }
    moved = {each.memory_id for each in made}
    changed = {each.id for each in (old, new) if await now_is(db, each) != each}
    assert moved == changed
    last = (await rows(db, "changes"))[-1]
    row = json.loads(last["row"])
    assert (last["entity"], row["resolution"]) == ("review", resolution)
    assert row["old"]["observation"] == wanted_old[0]


@every
async def test_each_resolution_can_be_reverted_completely(db: Database, decision: str) -> None:
    old, new, review = await contradicted(db)
    resolved = await decided(db, review, decision)

    again = await undone(db, resolved, version=2)

    assert again == replace(review, version=3)
    for before in (old, new):
        after = await now_is(db, before)
        assert replace(after, version=0) == replace(before, version=0)
    assert await linked(db, old, new) == []
    assert await changes_of_resolution(db, again) == []

    await decided(db, again, decision)
    wanted_old, wanted_new, wanted_links = OUTCOMES[decision]
    assert (told(await now_is(db, old)), told(await now_is(db, new))) == (wanted_old, wanted_new)
    assert await linked(db, old, new) == wanted_links
    await undone(db, again)
    assert told(await now_is(db, old)) == told(old)


async def test_keep_old_restores_a_memory_below_the_limit(db: Database) -> None:
    old, _, review = await contradicted(db, confidence=0.4)
    assert (old.confidence, old.active) == (0.2, False)

    await decided(db, review, "keep old")
    assert told(await now_is(db, old)) == (OLD, 0.4, *HERE)

    await undone(db, review)
    assert told(await now_is(db, old)) == (OLD, 0.2, False, InactiveReason.LOW)


async def test_resolved_possible_conflict_restores_no_confidence(db: Database) -> None:
    old, new, by = await claims(db)
    review = await opened(db, old, new, by, ReviewKind.POSSIBLE)

    await decided(db, review, "keep old")

    assert await now_is(db, old) == old
    assert told(await now_is(db, new)) == (NEW, 0.7, *ASIDE)


async def test_confidence_lowered_by_others_is_not_restored(db: Database) -> None:
    first = await session(db)
    old = await believed(db, first, confidence=1.0)
    by, other = await session(db), await session(db)
    new = await believed(db, by, observation=FAST)
    third = await believed(db, by, observation="Takes an hour")
    lower = await weakened(db, old, by)
    review = await opened(db, lower, new, by)
    lower = (await said(db, by)).memory
    lower = await weakened(db, lower, by, now=LATER)
    lower = await weakened(db, lower, other)
    possible = await opened(db, lower, third, by, ReviewKind.POSSIBLE)

    await decided(db, possible, "keep old")
    assert (await now_is(db, old)).confidence == after(DOWN, UP, DOWN, DOWN, of=1.0)

    await decided(db, review, "keep old")
    assert (await now_is(db, old)).confidence == after(DOWN, UP, DOWN, of=1.0)
    given = (await history.of_memory(db, old.id, limit=1)).items[0]
    assert given.reason == "undoes contradicted of version 2"


async def test_confidence_lowered_by_each_session_is_restored(db: Database) -> None:
    old = await believed(db, await session(db))
    new = (await said(db, await session(db), observation=FAST)).memory
    for hour in (1, 2):
        await said(db, await session(db), observation=FAST, now=NOON + timedelta(hours=hour))
    [review] = (await reviews.page(db, ReviewFilter(), limit=9)).items
    assert (review.old_id, review.new_id) == (old.id, new.id)
    assert told(await now_is(db, old)) == (OLD, 0.1, False, InactiveReason.LOW)

    await decided(db, review, "keep old")
    assert told(await now_is(db, old)) == (OLD, 0.7, *HERE)

    await undone(db, review)
    assert told(await now_is(db, old)) == (OLD, 0.1, False, InactiveReason.LOW)
    await decided(db, review, "keep old")
    assert told(await now_is(db, old)) == (OLD, 0.7, *HERE)


@pytest.mark.parametrize(("decision", "left"), [("merge", 0.4), ("both", 0.4), ("keep old", 0.4)])
async def test_resolution_applies_due_fading_first(
    db: Database, decision: str, left: float
) -> None:
    old, _, review = await contradicted(db)
    later, answer = NOON + timedelta(days=52), DECISIONS[decision]

    await resolve(context(db, later), review.id, answer, version=None)

    assert (await now_is(db, old)).confidence == left
    await reopen(db, review.id, version=None, now=later)
    back = await now_is(db, old)
    assert (back.confidence, back.updated_at, back.decayed_weeks) == (0.5, NOON, 0)


@pytest.mark.parametrize("decision", ["keep old", "keep new"])
async def test_kept_memory_is_active_until_the_resolution_is_undone(
    db: Database, decision: str
) -> None:
    old, new, review = await contradicted(db)
    kept = old if decision == "keep old" else new
    await raised(db, kept, confidence=0.05)
    aside = await now_is(db, kept)
    assert not aside.active

    await decided(db, review, decision)
    now = await now_is(db, kept)
    assert (now.active, now.confidence) == (True, 0.3)

    await undone(db, review)
    assert replace(await now_is(db, kept), version=0) == replace(aside, version=0)


async def test_lowered_confidence_is_restored_once(db: Database) -> None:
    old, _, review = await contradicted(db)
    taken = (await history.of_memory(db, old.id, limit=1)).items[0]
    await undo_step(db, old.id, taken.id, version=None, now=LATER)

    await decided(db, review, "keep old")

    assert (await now_is(db, old)).confidence == 0.7


async def test_memory_edited_meanwhile_keeps_its_edit(db: Database) -> None:
    old, new, review = await contradicted(db)
    await raised(db, old, confidence=0.6, observation="Takes 61s")
    await raised(db, new, pinned=True)

    await decided(db, review, "both")

    both = (await now_is(db, old), await now_is(db, new))
    assert told(both[0]) == ("Takes 61s (from disk)", 0.8, *HERE)
    assert (told(both[1]), both[1].pinned) == (OUTCOMES["both"][1], True)

    await undone(db, review)
    assert told(await now_is(db, old)) == ("Takes 61s", 0.6, *HERE)


async def test_later_edit_blocks_a_revert(db: Database) -> None:
    old, new, review = await contradicted(db)
    resolved = await decided(db, review, "merge")
    await raised(db, old, observation="Takes 7s")
    merged = await now_is(db, old)

    with pytest.raises(Conflict, match=r"Memory 1 was later edited by the operator \(version 5\)"):
        await undone(db, review)

    assert (await now_is(db, old), await reviews.get(db, review.id)) == (merged, resolved)
    assert told(await now_is(db, new)) == OUTCOMES["merge"][1]


async def test_manual_undo_blocks_a_revert_until_undone(
    db: Database,
) -> None:
    old, new, review = await contradicted(db)
    await decided(db, review, "keep old")
    back = (await history.of_memory(db, new.id, limit=1)).items[0]
    await undo_step(db, new.id, back.id, version=None, now=LATER)
    by_hand = recorded.get()
    assert by_hand is not None

    with pytest.raises(Conflict, match=r"Memory 2 was later undone by the operator"):
        await undone(db, review)
    await journal.undo(db, by_hand, now=LATER)
    await undone(db, review)

    assert (told(await now_is(db, old)), told(await now_is(db, new))) == (told(old), told(new))


@every
async def test_resolved_review_cannot_be_resolved_again(db: Database, decision: str) -> None:
    _, _, review = await contradicted(db)
    with pytest.raises(Conflict, match="not resolved"):
        await undone(db, review)
    resolved = await decided(db, review, "dismiss")

    with pytest.raises(Conflict, match="already resolved: dismiss"):
        await decided(db, review, decision)
    with pytest.raises(Stale) as stale:
        await decided(db, review, decision, version=1)
    with pytest.raises(Stale):
        await undone(db, review, version=1)

    assert stale.value.current == resolved


async def test_one_of_two_concurrent_resolutions_is_stored(url: str) -> None:
    async with Database(url) as one, Database(url) as other:
        _, new, review = await contradicted(one)

        found = await asyncio.gather(
            decided(one, review, "keep old", version=1),
            decided(other, review, "keep new", version=1),
            return_exceptions=True,
        )

        assert sorted(type(each).__name__ for each in found) == ["Review", "Stale"]
        kept = await lookup.get(one, new.id)
        assert kept.active is (found[0].__class__ is Stale)


async def test_review_of_a_deleted_memory_cannot_be_resolved(db: Database) -> None:
    old, new, review = await contradicted(db)
    await curate.delete(db, new.id, version=None, now=LATER)

    with pytest.raises(Conflict, match="already resolved: gone"):
        await decided(db, review, "keep old")
    with pytest.raises(Conflict, match="Restore it from the trash first"):
        await undone(db, review)

    assert await now_is(db, old) == old


async def test_resolution_cannot_be_reverted_after_a_deletion(db: Database) -> None:
    old, new, review = await contradicted(db)
    await decided(db, review, "keep old")
    await curate.delete(db, old.id, version=None, now=LATER)

    with pytest.raises(Conflict, match=f"Memory {old.id} was deleted"):
        await undone(db, review)

    assert told(await now_is(db, new)) == OUTCOMES["keep old"][1]


async def test_resolution_cannot_be_reverted_while_a_newer_review_is_open(db: Database) -> None:
    old, new, review = await contradicted(db)
    await decided(db, review, "dismiss")
    newer = await opened(db, old, new, await session(db))

    with pytest.raises(Conflict, match=f"Review {newer.id} is already open"):
        await undone(db, review)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (ReviewAnswer(resolution=Resolution.BOTH), ["old_scope"]),
        (
            ReviewAnswer(resolution=Resolution.BOTH, old_scope=" \u200b", new_scope="\n"),
            ["old_scope"],
        ),
        (ReviewAnswer(resolution=Resolution.BOTH, new_scope="x" * 50_000), ["new_scope"]),
        (ReviewAnswer(resolution=Resolution.MERGE), ["observation"]),
        (ReviewAnswer(resolution=Resolution.MERGE, observation=" \n"), ["observation"]),
        (
            ReviewAnswer(
                resolution=Resolution.KEEP_OLD, old_scope="a", new_scope="b", observation="c"
            ),
            ["old_scope", "new_scope", "observation"],
        ),
    ],
    ids=str,
)
async def test_missing_and_unused_fields_are_rejected(
    db: Database, answer: ReviewAnswer, wrong: list[str]
) -> None:
    _, _, review = await contradicted(db)

    with pytest.raises(Invalid) as error:
        await resolve(context(db, LATER), review.id, answer, version=None)

    assert [each.field for each in error.value.wrong] == wrong
    assert await reviews.get(db, review.id) == review


async def test_typed_text_is_masked_and_on_one_line(db: Database) -> None:
    old, new, review = await contradicted(db)
    secret = "hunter2-hunter2"
    both = ReviewAnswer(
        resolution=Resolution.BOTH, old_scope=f"with {secret}", new_scope="a\n### b"
    )

    await resolve(context(db, LATER, SECRETIVE), review.id, both, version=None)

    assert secret not in await words_kept(db)
    assert (await now_is(db, old)).observation.startswith(f"{OLD} (with [")
    assert (await now_is(db, new)).observation == f"{NEW} (a ### b)"
