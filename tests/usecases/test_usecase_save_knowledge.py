"""Knowledge that agents store: revised, counted or new, withdrawn and removed.

The ends of some names are the numbers of the cases.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from examples import LATER, NOON, OPEN, SECRETIVE, SLOW_START, held, rows, session

import nursery
from contexts import WINDOW, context
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.knowledge import SavedKnowledge, SaveOutcome
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.text import content_hash
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories
from lamplighter.usecases.memory import curate, journal, knowledge, undo

MINUTE = timedelta(minutes=1)
POOL = Candidate(
    category=Category.CONFIG,
    service=None,
    observation="The pool holds 20 connections",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    title="Size of the pool",
    tags=("postgres",),
    project="shop",
)
KEYED = replace(POOL, topic_key="config/db/pool")
OTHER = replace(KEYED, observation="The pool of the other holds 40")
REPORT = """## Key Learnings:
1. The pool holds 20 connections at most
2. WAL mode lets readers go on while one writes
3. The proxy drops idle connections after 60s
"""
SAVE = """
import asyncio, sys
sys.path[:0] = sys.argv[2:]
from contexts import WINDOW, context
from test_usecase_save_knowledge import OTHER, POOL
from lamplighter.repository import Database
from lamplighter.usecases.memory import knowledge

async def main():
    async with Database(sys.argv[1]) as db:
        await asyncio.gather(*(
            knowledge.save(context(db), wanted, window=WINDOW)
            for wanted in [POOL, OTHER] * 10
        ))

asyncio.run(main())
"""


async def keep(db: Database, candidate: Candidate = POOL, **more: Any) -> SavedKnowledge:
    here = context(db, more.pop("now", NOON), more.pop("redact", OPEN))
    window = more.pop("window", WINDOW)
    return await knowledge.save(here, replace(candidate, **more), window=window)


async def steps(db: Database, memory: Memory) -> list[history.HistoryRecord]:
    return (await history.of_memory(db, memory.id, limit=9)).items


async def test_new_knowledge_is_created_104(db: Database) -> None:
    kept = await keep(db)

    assert kept.outcome is SaveOutcome.CREATED
    assert (kept.memory.revision_count, kept.memory.duplicate_count) == (1, 1)
    assert await held(db) == [kept.memory]
    [step] = await steps(db, kept.memory)
    assert (step.cause, step.actor) == ("learned", "client")


async def test_knowledge_with_the_same_topic_key_is_revised_in_place_105(db: Database) -> None:
    first = await keep(db, KEYED)

    again = await keep(
        db,
        KEYED,
        observation="The pool holds 40",
        title="Pool",
        tags=("db",),
        category=Category.DECISION,
        topic_key="Config/DB/Pool",
        now=LATER,
    )

    assert again.outcome is SaveOutcome.UPDATED
    assert again.memory == replace(
        first.memory,
        observation="The pool holds 40",
        title="Pool",
        tags=("db",),
        category=Category.DECISION,
        kind=MemoryKind.SEMANTIC,
        content_hash=content_hash("The pool holds 40"),
        revision_count=2,
        last_seen_at=LATER,
        updated_at=LATER,
        version=2,
    )
    [kept] = await held(db)
    assert kept == again.memory
    step = (await steps(db, kept))[0]
    assert (step.cause, (step.before or {})["title"], (step.after or {})["title"]) == (
        "revised",
        "Size of the pool",
        "Pool",
    )
    assert [each["op"] for each in await rows(db, "changes")] == ["created", "updated"]
    back = await undo.undo_step(db, kept.id, step.id, version=None, now=LATER)
    assert (back.observation, back.title, back.tags) == (POOL.observation, POOL.title, POOL.tags)
    assert back == replace(first.memory, last_seen_at=LATER, version=3)
    again_back = (await steps(db, kept))[0]
    redone = await undo.undo_step(db, kept.id, again_back.id, version=None, now=LATER)
    assert redone == replace(again.memory, version=4)


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ({}, True),
        ({"observation": "the POOL  holds\n20 connections"}, True),
        ({"title": "Another title"}, True),
        ({"project": "SHOP "}, True),
        ({"project": "other"}, False),
        ({"observation": "The pool holds 21 connections"}, False),
        ({"now": NOON + 14 * MINUTE}, True),
        ({"now": NOON + 16 * MINUTE}, False),
        ({"now": NOON + 16 * MINUTE, "window": timedelta(hours=1)}, True),
        ({"window": timedelta(0)}, False),
        ({"window": timedelta(days=10**6)}, True),
    ],
    ids=str,
)
async def test_same_text_is_a_duplicate_within_the_window_106_107_108_109_110_111(
    db: Database, more: dict[str, Any], same: bool
) -> None:
    first = (await keep(db)).memory

    again = await keep(db, **more)

    if not same:
        assert again.outcome is SaveOutcome.CREATED
        assert len(await held(db)) == 2
        return
    now = more.get("now", NOON)
    assert again == SavedKnowledge(
        SaveOutcome.DEDUPLICATED, replace(first, duplicate_count=2, last_seen_at=now)
    )
    assert await held(db) == [again.memory]
    assert len(await steps(db, first)) == 1
    assert len(await rows(db, "changes")) == 1


async def test_topic_key_is_unique_per_project_and_scope(db: Database) -> None:
    await keep(db, KEYED)

    other = await keep(db, KEYED, project="other")
    wide = await keep(db, KEYED, scope="global", now=LATER)

    assert (other.outcome, wide.outcome) == (SaveOutcome.CREATED, SaveOutcome.CREATED)


async def test_withdrawn_memory_is_neither_revised_nor_counted(db: Database) -> None:
    for wanted in (POOL, KEYED):
        gone = (await keep(db, wanted, project=str(wanted.topic_key))).memory
        await knowledge.withdraw_memory(db, gone.id, now=NOON)

        again = await keep(db, wanted, project=str(wanted.topic_key))

        assert again.outcome is SaveOutcome.CREATED


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        (Category.PREFERENCE, MemoryKind.PROCEDURAL),
        (Category.PATTERN, MemoryKind.PROCEDURAL),
        (Category.LEARNING, MemoryKind.PROCEDURAL),
        (Category.ARCHITECTURE, MemoryKind.PROJECT),
        (Category.CONFIG, MemoryKind.PROJECT),
        (Category.DECISION, MemoryKind.SEMANTIC),
        (Category.DISCOVERY, MemoryKind.SEMANTIC),
        (Category.BUGFIX, MemoryKind.SEMANTIC),
    ],
)
async def test_client_knowledge_has_trust_observed(
    db: Database, category: Category, kind: MemoryKind
) -> None:
    raw = (await keep(db, category=category, confidence=1.0, trust=Trust.TRUSTED)).memory
    whole = (await keep(db, KEYED, category=category, observation="40")).memory

    for memory in (raw, whole):
        assert (memory.kind, memory.confidence, memory.trust) == (kind, 0.7, Trust.OBSERVED)
    assert (raw.distilled, whole.distilled) == (False, True)


@pytest.mark.parametrize("source", [Source.CAPTURED, Source.IMPORTED, Source.EXTRACTED])
async def test_undistilled_memories_are_unverified(db: Database, source: Source) -> None:
    memory = (await keep(db, KEYED, source=source, confidence=0.9, trust=Trust.TRUSTED)).memory

    assert (memory.confidence, memory.trust, memory.distilled) == (0.6, Trust.UNVERIFIED, False)
    assert memory.kind is (
        MemoryKind.SEMANTIC if source is Source.EXTRACTED else MemoryKind.EPISODIC
    )


async def test_revision_by_a_client_lowers_the_trust_of_an_operator_memory(db: Database) -> None:
    person = replace(KEYED, source=Source.OPERATOR, trust=Trust.TRUSTED, confidence=0.9)
    own = await curate.create(context(db), person)

    said = (await keep(db, KEYED, observation="40")).memory
    imported = (await keep(db, KEYED, observation="60", source=Source.IMPORTED)).memory

    assert (said.id, said.trust, said.confidence) == (own.id, Trust.OBSERVED, 0.9)
    assert (imported.trust, imported.kind, imported.distilled) == (
        Trust.UNVERIFIED,
        MemoryKind.PROJECT,
        True,
    )
    step = (await steps(db, own))[1]
    assert ((step.before or {})["trust"], (step.after or {})["trust"]) == ("trusted", "observed")


async def test_invalid_knowledge_is_rejected_with_each_field_113(db: Database) -> None:
    with pytest.raises(Invalid) as refused:
        await keep(
            db,
            KEYED,
            category=Category.TIMING,
            observation=" ",
            title="x" * 501,
            tags=tuple(map(str, range(21))),
            project=" ",
        )

    assert {each.field for each in refused.value.wrong} >= {
        "category",
        "observation",
        "title",
        "tags",
        "project",
    }
    for more in (
        {"title": "x" * 500},
        {"tags": tuple(map(str, range(20)))},
        {"tags": ("x" * 100,)},
        {"observation": "y" * 50_000},
        {"project": "p" * 100},
    ):
        await keep(db, **more)
    for field, more in (
        ("tags", {"tags": ("x" * 101,)}),
        ("observation", {"observation": "y" * 50_001}),
        ("project", {"project": "p" * 201}),
    ):
        with pytest.raises(Invalid) as refused:
            await keep(db, **more)
        assert [each.field for each in refused.value.wrong] == [field]


async def test_private_and_secret_text_is_stored_nowhere_131(db: Database) -> None:
    secret = "<private>sk-abc123</private> hunter2-hunter2"

    memory = (
        await keep(
            db,
            observation=f"Set up API with {secret}",
            title=f"API {secret}",
            tags=(f"a {secret}",),
            topic_key=f"k {secret}",
            redact=SECRETIVE,
        )
    ).memory

    assert memory.observation.startswith("Set up API with [REDACTED]")
    words = str(await rows(db, "memories")) + str(await rows(db, "history"))
    assert "sk-abc123" not in words
    assert "hunter2-" not in words


async def test_memory_withdrawn_by_a_client_can_be_restored_by_an_operator_127(
    db: Database,
) -> None:
    by = await session(db)
    memory = (await keep(db)).memory

    gone = await knowledge.withdraw_memory(db, memory.id, now=LATER, session_id=by.id)

    assert gone == replace(memory, active=False, inactive_reason=InactiveReason.DELETED, version=2)
    with pytest.raises(NotFound):
        await knowledge.get(db, memory.id)
    with pytest.raises(NotFound):
        await knowledge.withdraw_memory(db, memory.id, now=LATER)
    assert await held(db) == [gone]
    step = (await steps(db, memory))[0]
    assert (step.cause, step.actor, step.session_id) == ("forgotten", "session", by.id)
    back = await curate.edit(context(db, LATER), memory.id, Edit(active=True), version=None)
    assert (back.active, back.inactive_reason) == (True, None)
    assert await knowledge.get(db, memory.id) == back


async def test_withdrawal_can_be_undone(db: Database) -> None:
    memory = (await keep(db)).memory
    await knowledge.withdraw_memory(db, memory.id, now=LATER)

    step = (await steps(db, memory))[0]
    back = await undo.undo_step(db, memory.id, step.id, version=None, now=LATER)

    assert back == replace(memory, version=3)


@pytest.mark.parametrize("first", [False, True], ids=["active", "forgotten"])
async def test_purged_memory_leaves_no_text_127(db: Database, first: bool) -> None:
    memory = (await keep(db, KEYED)).memory
    if first:
        await knowledge.withdraw_memory(db, memory.id, now=LATER)

    await knowledge.remove(db, memory.id, now=LATER)
    await journal.purge(db, memory.id, now=LATER)  # until then it is in the trash

    assert await held(db) == []
    words = str([await rows(db, table) for table in ("history", "changes", "memories")])
    assert "connections" not in words
    with pytest.raises(NotFound):
        await knowledge.remove(db, memory.id, now=LATER)


async def test_clients_cannot_change_operational_memories(db: Database) -> None:
    async with writing(db):
        own = await memories.insert(db, SLOW_START, now=NOON)

    for act in (
        knowledge.get(db, own.id),
        knowledge.withdraw_memory(db, own.id, now=LATER),
        knowledge.remove(db, own.id, now=LATER),
        knowledge.correct(context(db, LATER), own.id, Edit(observation="x")),
    ):
        with pytest.raises(NotFound):
            await act
    assert await held(db) == [own]


async def test_client_correction_changes_only_text_fields(db: Database) -> None:
    memory = (await keep(db)).memory
    other = (await keep(db, KEYED, observation="Another")).memory

    after = await knowledge.correct(
        context(db, LATER),
        memory.id,
        Edit(
            observation="It holds 40",
            confidence=1.0,
            active=False,
            pinned=True,
            service="x",
            project="another",
        ),
    )

    assert after.observation == "It holds 40"
    assert (after.confidence, after.active, after.pinned, after.service) == (0.7, True, False, None)
    assert after.project == memory.project
    assert (await steps(db, memory))[0].actor == "client"
    for change, field in (
        (Edit(category=Category.TIMING), "category"),
        (Edit(topic_key="config/db/pool"), "topic_key"),
        (Edit(title="x" * 501), "title"),
        (Edit(tags=tuple(map(str, range(21)))), "tags"),
    ):
        with pytest.raises(Invalid) as refused:
            await knowledge.correct(context(db, LATER), memory.id, change)
        assert [each.field for each in refused.value.wrong] == [field]
    assert await held(db) == [after, other]


async def test_correction_without_changes_changes_nothing(db: Database) -> None:
    memory = (await keep(db)).memory

    same = await knowledge.correct(context(db, LATER), memory.id, Edit(title=POOL.title))

    assert same == memory


async def test_save_does_not_wait_for_a_long_capture(db: Database) -> None:
    items = (f"- The pool number {each} is shared by all workers" for each in range(70))
    report = "\n".join(("## Key Learnings:", *items))
    here, how = context(db, NOON, SECRETIVE), {"project": "code", "session_id": None}

    async with asyncio.TaskGroup() as group:
        long = group.create_task(knowledge.capture(here, report, **how))
        other = group.create_task(keep(db))

    assert long.result().saved == 70
    assert other.result().memory.id <= 70


async def test_learnings_are_captured_once_132(db: Database) -> None:
    by = await session(db)
    how = {"project": "Shop", "session_id": by.id, "source_ref": "report"}

    first = await knowledge.capture(context(db), REPORT, **how)
    again = await knowledge.capture(context(db, NOON + timedelta(days=400)), REPORT, **how)
    none = await knowledge.capture(context(db), "nothing to learn here", **how)

    assert (first.extracted, first.saved, first.duplicates) == (3, 3, 0)
    assert (again.extracted, again.saved, again.duplicates) == (3, 0, 3)
    assert (none.extracted, none.saved, none.duplicates) == (0, 0, 0)
    kept = await held(db)
    assert [each.observation for each in kept] == [
        "The pool holds 20 connections at most",
        "WAL mode lets readers go on while one writes",
        "The proxy drops idle connections after 60s",
    ]
    assert {
        (each.category, each.kind, each.trust, each.confidence, each.distilled, each.project)
        for each in kept
    } == {(Category.LEARNING, MemoryKind.EPISODIC, Trust.UNVERIFIED, 0.6, False, "shop")}
    assert kept[0].source_ref == "report"


@pytest.mark.parametrize("wanted", [POOL, KEYED], ids=["words", "key"])
async def test_concurrent_saves_create_one_memory(db: Database, wanted: Candidate) -> None:
    kept = await asyncio.gather(*(keep(db, wanted) for _ in range(20)))

    [memory] = await held(db)
    assert {each.memory.id for each in kept} == {memory.id}
    assert sum(each.outcome is SaveOutcome.CREATED for each in kept) == 1
    assert memory.duplicate_count + memory.revision_count == 21


async def test_saves_of_two_processes_create_one_memory_each(db: Database, url: str) -> None:
    here = Path(__file__).parent
    argv = ("-c", SAVE, url, str(here), str(here.parent))
    both = (asyncio.to_thread(nursery.finish, *argv) for _ in range(2))
    for each in await asyncio.gather(*both):
        assert each.returncode == 0, each.stderr

    counts = [
        (each.topic_key, each.duplicate_count, each.revision_count) for each in await held(db)
    ]
    assert sorted(counts, key=str) == [("config/db/pool", 1, 20), (None, 20, 1)]
