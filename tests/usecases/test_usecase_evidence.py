"""The evidence of one memory: its sources, the prompts that included it, and contradictions."""

from datetime import timedelta

import pytest
from examples import LATER, SLOW_START, believed, said, session

from confidences import LEARNED, UP, after
from contexts import context
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.review import Resolution, ReviewAnswer
from lamplighter.domain.sessions.context import Placement, SessionPrompt
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures, memories
from lamplighter.usecases.memory import curate, review
from lamplighter.usecases.memory.evidence import evidence_of

QUICK = "Takes 5s to start after restart"
TOLD = SessionPrompt(system="", injected="", message="", tokens=0, budget=2_000)


async def tell(db: Database, number: int, memory_id: int, position: int | None) -> None:
    """Record that the prompt of a session included a memory, or (None) omitted it."""
    memory = await memories.get(db, memory_id)
    assert memory is not None
    placed = Placement(memory=memory, position=position, why="fits", line="- it")
    async with writing(db):
        await exposures.insert(db, number, TOLD, [placed])


async def test_evidence_lists_sessions_with_their_effect_on_confidence(db: Database) -> None:
    one, two, three = [await session(db, tier=tier) for tier in (1, 2, 3)]
    memory = (await said(db, one)).memory
    await said(db, two, now=LATER)
    await said(db, three, now=LATER + timedelta(hours=1))

    found = (await evidence_of(db, memory.id, limit=2)).as_json()["said"]

    assert (found["total"], found["sessions"]) == (3, 3)
    assert [(each["session_id"], each["tier"], each["cause"]) for each in found["items"]] == [
        (three.id, 3, "reinforced"),
        (two.id, 2, "reinforced"),
    ]
    assert [(each["before"], each["after"]) for each in found["items"]] == [
        (after(UP), after(UP, UP)),
        (LEARNED, after(UP)),
    ]


async def test_evidence_of_an_operator_memory_has_no_session(db: Database) -> None:
    memory = await curate.create(context(db), SLOW_START)

    found = (await evidence_of(db, memory.id, limit=20)).as_json()

    assert (found["said"]["total"], found["said"]["sessions"]) == (1, 0)
    [wrote] = found["said"]["items"]
    assert (wrote["session_id"], wrote["tier"], wrote["before"], wrote["after"]) == (
        None,
        0,
        None,
        0.7,
    )
    assert (found["told"], found["partners"]) == ({"total": 0, "items": []}, [])


async def test_evidence_lists_prompts_with_the_memory_newest_first(db: Database) -> None:
    memory = await curate.create(context(db), SLOW_START)
    numbers = [(await session(db, tier=2)).id for _ in range(3)]
    for number, position in zip(numbers, (1, None, 4), strict=True):
        await tell(db, number, memory.id, position)

    found = (await evidence_of(db, memory.id, limit=1)).as_json()["told"]

    assert found["total"] == 2
    [last] = found["items"]
    assert (last["session_id"], last["tier"], last["position"]) == (numbers[2], 2, 4)


async def test_evidence_lists_contradictions_with_their_review(db: Database) -> None:
    old = await believed(db, await session(db))
    other = (
        await said(db, await session(db), observation="Takes 5s to start after restart")
    ).memory

    for mine, its in ((old.id, other.id), (other.id, old.id)):
        [partner] = (await evidence_of(db, mine, limit=20)).partners
        assert partner.memory is not None
        assert partner.memory.id == its
        assert partner.review is not None
        assert (partner.review.state, partner.review.resolution) == ("open", None)
    assert partner.review
    both = ReviewAnswer(resolution=Resolution.BOTH, old_scope="cold", new_scope="warm")
    await review.resolve(context(db, LATER), partner.review.id, both, version=None)
    [partner] = (await evidence_of(db, old.id, limit=20)).partners
    assert partner.review
    assert partner.review.resolution is Resolution.BOTH


async def test_evidence_lists_a_deleted_conflicting_memory(db: Database) -> None:
    old = await believed(db, await session(db))
    other = (
        await said(db, await session(db), observation="Takes 5s to start after restart")
    ).memory
    await curate.delete(db, other.id, version=None, now=LATER)

    [partner] = (await evidence_of(db, old.id, limit=20)).as_json()["partners"]

    assert (partner["memory_id"], partner["memory"]) == (other.id, None)
    assert partner["review"]["resolution"] == "gone"


async def test_evidence_of_an_unknown_memory_is_not_found(db: Database) -> None:
    with pytest.raises(NotFound):
        await evidence_of(db, 7, limit=20)
