"""A person's edits of knowledge: a title, tags, its scope, and its topic key."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import LATER, NOON, SECRETIVE, SLOW_START, held, rows

import direct_writes
from contexts import context
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import NO_KEY, Category, Edit, Memory, MemoryKind
from lamplighter.repository import Database
from lamplighter.repository.memory import history, memories
from lamplighter.usecases.memory import bulk, curate, undo
from lamplighter.usecases.memory.bulk import BulkAction

POOL = replace(
    SLOW_START,
    category=Category.CONFIG,
    service=None,
    observation="The pool holds 20 connections.\nMore only make it wait.",
    title="Size of the pool",
    tags=("postgres", "pool"),
    topic_key="config/db/pool",
    tier=0,
)


async def made(db: Database, **more: Any) -> Memory:
    return await curate.create(context(db), replace(POOL, **more))


async def edited(db: Database, memory: Memory, **more: Any) -> Memory:
    return await curate.edit(context(db, LATER), memory.id, Edit(**more), version=None)


async def test_knowledge_is_stored_as_written(db: Database) -> None:
    memory = await made(db, scope="global")

    assert await held(db) == [memory]
    assert (memory.title, memory.tags, memory.scope) == (POOL.title, POOL.tags, "global")
    assert (memory.topic_key, memory.kind) == ("config/db/pool", MemoryKind.PROJECT)
    assert memory.observation == POOL.observation


async def test_topic_key_and_tags_are_normalized(db: Database) -> None:
    memory = await made(db, topic_key=" Config/DB  Pool ", tags=("a", " a ", "", "b"))

    assert (memory.topic_key, memory.tags) == ("config/db-pool", ("a", "b"))
    assert (await made(db, topic_key="  ")).topic_key is None


async def test_secrets_are_masked_in_title_and_tags(db: Database) -> None:
    words = replace(POOL, title="hunter2-hunter2", tags=("hunter2-hunter2",), topic_key="t")

    memory = await curate.create(context(db, NOON, SECRETIVE), words)

    assert "hunter2" not in f"{memory.title} {memory.tags}"


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"title": " Pool\nsize "}, {"title": "Pool size"}),
        ({"title": ""}, {"title": ""}),
        ({"tags": ("db",)}, {"tags": ("db",)}),
        ({"tags": ()}, {"tags": ()}),
        ({"project": " My-Shop "}, {"project": "my-shop"}),
        ({"scope": "global"}, {"scope": "global"}),
        ({"topic_key": "config/db/size"}, {"topic_key": "config/db/size"}),
        ({"topic_key": NO_KEY}, {"topic_key": None}),
    ],
    ids=str,
)
async def test_each_field_can_be_edited_and_undone(
    db: Database, change: dict[str, Any], kept: dict[str, Any]
) -> None:
    memory = await made(db)

    after = await edited(db, memory, **change)

    assert after == replace(memory, **kept, version=2)  # none of them confirms what it says
    assert await held(db) == [after]
    [step, _] = (await history.of_memory(db, memory.id, limit=9)).items
    back = await undo.undo_step(db, memory.id, step.id, version=None, now=LATER)
    assert back == replace(memory, version=3)
    assert await held(db) == [back]


async def test_fields_as_of_an_earlier_time_are_returned(db: Database) -> None:
    memory = await made(db)
    await edited(
        db,
        memory,
        title="Pool",
        tags=("db",),
        project="shop",
        scope="global",
        topic_key=NO_KEY,
        confidence=0.9,
    )

    then = await memories.get(db, memory.id, at=NOON + timedelta(seconds=1))

    assert then == memory


async def test_bulk_act_keeps_other_fields_in_the_history(db: Database) -> None:
    memory = await made(db, scope="global")
    await bulk.apply_action(db, [memory.id], BulkAction(action="confidence", value=0.5), now=LATER)
    await edited(db, memory, title="Pool", tags=(), scope="project", topic_key=NO_KEY)

    [_, step, first] = (await history.of_memory(db, memory.id, limit=9)).items

    assert (step.before or {})["tags"] == ["postgres", "pool"]
    assert step.before == first.after
    assert await memories.get(db, memory.id, at=NOON + timedelta(seconds=1)) == memory


async def test_invalid_external_tags_do_not_break_the_history(db: Database, url: str) -> None:
    memory = await made(db)
    direct_writes.run(url, f"UPDATE memories SET tags = 'none' WHERE id = {memory.id}")

    await bulk.apply_action(db, [memory.id], BulkAction(action="confidence", value=0.5), now=LATER)

    [*_, first] = (await history.of_memory(db, memory.id, limit=9)).items
    assert (first.after or {})["tags"] == ["postgres", "pool"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"topic_key": "x" * 121}, "topic_key"),
        ({"title": "x" * 501}, "title"),
        ({"category": Category.TIMING}, "topic_key"),
        ({"category": Category.TIMING, "topic_key": None, "scope": "global"}, "scope"),
    ],
    ids=["long key", "long title", "operational key", "operational scope"],
)
async def test_invalid_knowledge_is_rejected_with_its_field(
    db: Database, more: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await made(db, **more)
    assert [each.field for each in refused.value.wrong] == [field]
    assert await rows(db, "changes") == []

    memory = await made(db, scope="global")
    with pytest.raises(Invalid) as refused:
        await edited(db, memory, **more)
    assert field in [each.field for each in refused.value.wrong]
    assert await held(db) == [memory]


async def test_change_to_an_operational_category_removes_the_topic_key(db: Database) -> None:
    memory = await made(db, scope="global")

    after = await edited(db, memory, category=Category.TIMING, scope="project", topic_key=NO_KEY)

    assert (after.category, after.scope, after.topic_key) == (Category.TIMING, "project", None)


async def test_topic_key_belongs_to_one_active_memory(db: Database) -> None:
    first = await made(db)
    other = await made(db, topic_key="config/db/size")

    away = await made(db, project="shop")
    refuse = (
        made(db),
        edited(db, other, topic_key="Config/DB/pool"),
        edited(db, away, project="ops"),
    )

    for act in refuse:
        with pytest.raises(Invalid) as refused:
            await act
        [wrong] = refused.value.wrong
        assert (wrong.field, wrong.message) == (
            "topic_key",
            f"belongs to memory {first.id}; edit that memory instead",
        )
    assert await held(db) == [first, other, away]


async def test_released_topic_key_can_be_used_again(db: Database) -> None:
    first = await made(db)
    everywhere = await made(db, scope="global")
    await edited(db, first, active=False)

    again = await made(db)

    assert len({first.id, everywhere.id, again.id}) == 3
    assert (await edited(db, again, title="Pool", topic_key="config/db/pool")).title == "Pool"
