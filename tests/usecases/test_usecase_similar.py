"""Suggestions while a person types: similar or conflicting memories."""

from dataclasses import replace
from typing import Any

import pytest
from examples import LATER, NOON, SECRETIVE, SLOW_START, said, session

import direct_writes
from contexts import context
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Category, Edit, Memory
from lamplighter.domain.relate import builtin_lexicon, extend_builtin
from lamplighter.repository import Database
from lamplighter.repository.store import tables
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.analyze import catch_up
from lamplighter.usecases.memory.similar import MAX_SIMILAR, find_similar

SAME = "Takes a minute to start after a restart"
OTHERWISE = "Takes 10 minutes to start after restart"


async def typed(db: Database, text: str, **more: Any) -> list[tuple[int, str, bool]]:
    """Return the suggestions for a text: the memory's id, the label and whether it is certain."""
    without = more.pop("without", None)
    candidate = replace(SLOW_START, observation=text, **more)
    found = await find_similar(context(db), candidate, builtin_lexicon(), without=without)
    return [(each.memory.id, each.verdict.label, each.verdict.sure) for each in found]


async def known(db: Database, text: str, **more: Any) -> Memory:
    """Add a memory as an operator, without an analysis of it."""
    candidate = replace(SLOW_START, observation=text, **more)
    return await curate.create(context(db), candidate)


async def everything(db: Database) -> list[Any]:
    """Return all rows that a search for similar memories could have changed."""
    names = (tables.memories, tables.analyses, tables.changes, tables.history)
    return [[dict(row) for row in await db.fetch_all(table.select())] for table in names]


@pytest.mark.parametrize("read", [False, True], ids=["unread", "analysed"])
async def test_similar_memories_rank_before_conflicting_ones(db: Database, *, read: bool) -> None:
    otherwise = await known(db, OTHERWISE, confidence=0.9)
    same = await known(db, SLOW_START.observation, confidence=0.5)
    await known(db, "Listens on port 8096")
    if read:
        await catch_up(db, builtin_lexicon())

    assert await typed(db, SAME) == [
        (same.id, "reinforce", True),
        (otherwise.id, "contradict", True),
    ]


async def test_possible_conflicts_rank_last(db: Database) -> None:
    of = {"service": "proxmox", "category": Category.BEHAVIOR}
    doubt = await known(db, "The log forwarder needs the blue key", **of)
    text = "The log forwarder needs the green key"
    assert await typed(db, text, **of) == [(doubt.id, "new", False)]

    same = await known(db, text, **of)
    assert await typed(db, text, **of) == [(same.id, "reinforce", True), (doubt.id, "new", False)]


async def test_only_active_memories_of_the_group_are_suggested(db: Database) -> None:
    await known(db, SLOW_START.observation, service=None)
    await known(db, SLOW_START.observation, category=Category.BEHAVIOR)
    off = await known(db, SLOW_START.observation)
    await curate.edit(context(db, LATER), off.id, Edit(active=False), version=None)

    assert await typed(db, SAME) == []


async def test_spelling_of_a_service_is_ignored(db: Database) -> None:
    same = await known(db, SLOW_START.observation)
    assert await typed(db, SAME, service="JellyFin") == [(same.id, "reinforce", True)]


async def test_edited_memory_itself_is_not_suggested(db: Database) -> None:
    edited = await known(db, SLOW_START.observation)
    other = await known(db, OTHERWISE)
    assert await typed(db, SAME, without=edited.id) == [(other.id, "contradict", True)]


async def test_at_most_five_memories_are_suggested_by_confidence(db: Database) -> None:
    made = [
        await known(db, SLOW_START.observation, confidence=number / 10) for number in range(3, 10)
    ]
    found = await typed(db, SLOW_START.observation)
    assert [number for number, _, _ in found] == [each.id for each in made[: -MAX_SIMILAR - 1 : -1]]


async def test_similar_memory_is_found_among_many(db: Database) -> None:
    same = await known(db, SLOW_START.observation, confidence=0.4)
    for number in range(250):
        await known(db, f"Listens on port {8000 + number} after restart", confidence=0.9)
    await catch_up(db, builtin_lexicon())

    assert await typed(db, "Needs 60s to start after restart") == [(same.id, "reinforce", True)]


async def test_rows_written_outside_the_app_are_found(db: Database, url: str) -> None:
    same = await known(db, OTHERWISE)
    await catch_up(db, builtin_lexicon())
    words = f"observation = '{SLOW_START.observation}', content_hash = ''"
    direct_writes.run(url, f"UPDATE memories SET {words} WHERE id = {same.id}")

    assert await typed(db, SAME) == [(same.id, "reinforce", True)]
    assert await typed(db, SLOW_START.observation) == [(same.id, "reinforce", True)]


async def test_lexicon_of_the_operator_applies_immediately(db: Database) -> None:
    words = extend_builtin('[synonyms]\ngrommet = "frobnicate"')
    same = await known(db, "Takes 60s to grommet itself")
    await catch_up(db, builtin_lexicon())
    candidate = replace(SLOW_START, observation="Needs a minute to frobnicate itself")

    [found] = await find_similar(context(db), candidate, words)

    assert (found.memory, found.verdict.label) == (same, "reinforce")


async def test_only_identical_knowledge_is_suggested(db: Database) -> None:
    of = {"category": Category.DECISION}
    same = await known(db, "We restart  at night", **of)
    await known(db, "We never restart at night", **of)
    assert await typed(db, "we restart at night", **of) == [(same.id, "reinforce", True)]


async def test_find_similar_writes_nothing(db: Database) -> None:
    await said(db, await session(db))
    await known(db, OTHERWISE)
    db.groups.clear()
    before = await everything(db)

    assert len(await typed(db, SAME)) == 2

    assert await everything(db) == before
    assert db.groups == {}


async def test_secret_is_masked_before_the_comparison(db: Database) -> None:
    kept = await curate.create(
        context(db, NOON, SECRETIVE),
        replace(SLOW_START, observation="The password is hunter2-hunter2"),
    )
    candidate = replace(SLOW_START, observation="The password is hunter2-hunter2")
    [found] = await find_similar(context(db, NOON, SECRETIVE), candidate, builtin_lexicon())
    assert (found.memory, found.verdict.word_for_word) == (kept, True)


async def test_find_similar_rejects_an_empty_observation(db: Database) -> None:
    with pytest.raises(Invalid):
        await typed(db, " ")


async def test_long_text_is_compared(db: Database) -> None:
    await known(db, SLOW_START.observation)
    words = " ".join(f"word{number}" for number in range(5_000))
    long = await known(db, words)
    assert await typed(db, words) == [(long.id, "reinforce", True)]
