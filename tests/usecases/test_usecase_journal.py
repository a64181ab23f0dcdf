"""Undo of an operator's operation is exact: the same rows, byte for byte, or no change."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from acting import acted, marked
from examples import LATER, NOON, SLOW_START, believed, held, rows, said, session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confidences import UP, after
from contexts import WINDOW, context
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, Source, Trust
from lamplighter.domain.memory.review import Resolution, ReviewAnswer
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.clients import imports
from lamplighter.repository.memory import trash
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.access.recording import recorded
from lamplighter.usecases.memory import bulk, curate, knowledge, lookup, review, undo
from lamplighter.usecases.memory import journal as acts
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.search.session_search import SearchingSession, search
from lamplighter.usecases.services import act

KEPT = timedelta(days=30)
SPRING = NOON + timedelta(days=60)
TABLES = ("memories", "links", "reviews", "cooldowns", "imports", "trash", "trash_imports")
KNOWN = Candidate(
    category=Category.DECISION,
    service=None,
    observation="Use WAL mode for the queue",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    trust=Trust.OBSERVED,
    project="shop",
    title="WAL",
    tags=("db", "queue"),
    topic_key="config/db/wal",
)


def number() -> int:
    """Return the number of the operation that was just recorded."""
    found = recorded.get()
    assert found is not None
    return found


async def state(db: Database) -> dict[str, list[dict[str, Any]]]:
    """Return all rows without their versions, which only increase."""
    kept = {}
    for table in TABLES:
        found = await rows(db, table)
        kept[table] = [{name: row[name] for name in row if name != "version"} for row in found]
    return kept


async def lived(db: Database) -> Memory:
    """Let two sessions report the same observation, and a third one contradict it."""
    first = (await said(db, await session(db))).memory
    await said(db, await session(db), now=LATER)
    claim = "[MEMORY:timing:jellyfin] Takes 600s to start after restart"
    await marked(db, await session(db), claim, now=LATER)
    return await lookup.get(db, first.id)


async def test_undo_restores_a_deleted_memory_as_the_same_row(db: Database) -> None:
    memory = await lived(db)
    kept = (await knowledge.save(context(db), KNOWN, window=WINDOW)).memory
    async with writing(db):
        await imports.record(db, {"elsewhere:9": (kept.id, "abc")}, existing=(), now=NOON)
    before = {table: await rows(db, table) for table in TABLES}
    past = await rows(db, "history")

    for each in (memory, kept):
        await curate.delete(db, each.id, version=each.version, now=SPRING)
        deletion = number()
        assert each.id not in {row["id"] for row in await rows(db, "memories")}
        await acts.undo(db, deletion, now=SPRING)

    after = {table: await rows(db, table) for table in TABLES}
    versions = [row.pop("version") for table in (before, after) for row in table["reviews"]]
    assert after == before
    assert versions == [1, 3]
    assert (await rows(db, "history"))[: len(past)] == past
    causes = [(row["cause"], row["actor"]) for row in (await rows(db, "history"))[len(past) :]]
    assert causes == [("deleted", "operator"), ("restored", "operator")] * 2
    assert (await lookup.get(db, kept.id)).trust is Trust.OBSERVED


async def test_restored_memory_is_found_and_reinforced(db: Database) -> None:
    by = await session(db)
    memory = (await said(db, by)).memory
    await said(db, by, observation="Library scan takes 20 minutes")
    await curate.delete(db, memory.id, version=None, now=LATER)
    assert memory.id not in await found(db, by)

    await acts.undo(db, number(), now=LATER)

    assert memory.id in await found(db, by)
    again = await said(db, await session(db), now=LATER)
    assert (again.memory.id, again.memory.confidence) == (memory.id, after(UP))
    assert len(await held(db)) == 2


async def found(db: Database, by: Session) -> list[int]:
    asker = SearchingSession(session_id=by.id, tool="mem_search")
    results = await search(context(db, LATER), "start after restart", asker, service=None, limit=9)
    return [each.id for each in results.memories]


@pytest.mark.parametrize("many", [False, True])
async def test_feed_has_deletion_and_restore_without_text_of_deleted_memories(
    db: Database, many: bool
) -> None:
    memory = (await said(db, await session(db))).memory
    if many:
        await bulk.apply_action(db, [memory.id], BulkAction(action="delete"), now=LATER)
    else:
        await curate.delete(db, memory.id, version=None, now=LATER)
    told = [each for each in await changes.list_after(db, 0) if each.entity == "memory"]
    assert not any(each.row and "observation" in each.row for each in told)

    await acts.undo(db, number(), now=LATER)

    *_, gone, back = [each for each in await changes.list_after(db, 0) if each.entity == "memory"]
    if many:
        assert [each.row for each in (gone, back)] == [
            {"ids": [memory.id], "op": "deleted"},
            {"ids": [memory.id], "op": "created"},
        ]
    else:
        assert (gone.op, gone.entity_id, gone.version) == ("deleted", memory.id, 2)
        assert (back.op, back.entity_id, back.version) == ("created", memory.id, 1)
        assert back.row is not None
        assert back.row["observation"] == memory.observation


async def test_restore_reopens_a_review_closed_by_the_deletion(db: Database) -> None:
    memory = await lived(db)
    [case] = await rows(db, "reviews")
    other = case["new_id"]
    for each in (memory.id, other):
        await curate.delete(db, each, version=None, now=SPRING)
    [gone] = await rows(db, "reviews")
    assert (gone["state"], gone["resolution"], gone["said"]) == ("resolved", "gone", case["said"])

    await acts.restore(db, other, now=SPRING)
    assert (await rows(db, "reviews"))[0]["state"] == "resolved"
    await acts.restore(db, memory.id, now=SPRING)

    [back] = await rows(db, "reviews")
    assert {**back, "version": 0} == {**case, "version": 0}


async def test_undo_after_a_later_change_is_refused_with_the_change(db: Database) -> None:
    memory = (await said(db, await session(db))).memory
    await curate.edit(context(db, LATER), memory.id, Edit(observation="Takes 90s"), version=None)
    edit = number()
    by = await session(db)
    await said(db, by, observation="Takes 90s", now=LATER)
    before = await state(db)

    with pytest.raises(Conflict) as refused:
        await acts.undo(db, edit, now=LATER)

    assert str(refused.value) == (
        f"Nothing was undone. Memory {memory.id} was later reinforced by session {by.id} "
        f"(version 3)."
    )
    assert await state(db) == before


async def test_restore_is_refused_if_another_memory_has_the_topic_key(db: Database) -> None:
    old = (await knowledge.save(context(db), KNOWN, window=WINDOW)).memory
    await curate.delete(db, old.id, version=None, now=LATER)
    deletion = number()
    new = (await knowledge.save(context(db, LATER), KNOWN, window=WINDOW)).memory
    assert new.id != old.id

    with pytest.raises(
        Conflict, match=f"topic key of memory {old.id} now belongs to memory {new.id}"
    ):
        await acts.undo(db, deletion, now=LATER)
    with pytest.raises(Conflict, match=f"now belongs to memory {new.id}"):
        await acts.restore(db, old.id, now=LATER)

    await curate.delete(db, new.id, version=None, now=LATER)
    assert (await acts.restore(db, old.id, now=LATER)) == old


async def test_bulk_deletion_is_undone_completely_or_partly_on_request(db: Database) -> None:
    by = await session(db)
    ids = [(await believed(db, by, observation=f"Takes {each}0s")).id for each in range(1, 5)]
    await bulk.apply_action(db, MemoryFilter(), BulkAction(action="delete"), now=LATER)
    deletion = number()
    await acts.restore(db, ids[0], now=LATER)
    await acts.purge(db, ids[1], now=LATER)
    before = await state(db)

    with pytest.raises(Conflict) as refused:
        await acts.undo(db, deletion, now=LATER)
    assert str(refused.value) == (
        f"Nothing was undone. Memory {ids[0]} was later restored by the operator (version 1);"
        f" Memory {ids[1]} was later purged by the operator (version 2)."
        " The rest can be undone."
    )
    assert await state(db) == before

    done = await acts.undo(db, deletion, now=LATER, partly=True)

    assert (done.ids, done.left) == (ids[2:], 2)
    assert [each.id for each in await held(db)] == [ids[0], *ids[2:]]


async def test_act_is_undone_once(db: Database) -> None:
    memory = (await said(db, await session(db))).memory
    await curate.delete(db, memory.id, version=None, now=LATER)
    deletion = number()
    await acts.undo(db, deletion, now=LATER)
    undone = number()

    with pytest.raises(Conflict, match=f"already undone by act {undone}"):
        await acts.undo(db, deletion, now=LATER)
    with pytest.raises(NotFound, match="Act 999 not found"):
        await acts.undo(db, 999, now=LATER)

    page = await journal.page(db, limit=9)
    assert [(each.action, each.memory_id, each.undone_by) for each in page.items] == [
        ("undo", memory.id, None),
        ("delete", memory.id, undone),
    ]


async def test_edit_without_changes_is_not_an_act(db: Database) -> None:
    memory = (await said(db, await session(db))).memory
    await curate.edit(context(db, LATER), memory.id, Edit(pinned=False), version=None)

    assert (await journal.page(db, limit=9)).items == []


async def test_trash_is_purged_after_its_retention(db: Database) -> None:
    by = await session(db)
    old, young = [(await believed(db, by, observation=each)).id for each in ("Old one", "Young")]
    await curate.delete(db, old, version=None, now=NOON)
    await curate.delete(db, young, version=None, now=NOON + timedelta(days=1))
    due = NOON + KEPT

    assert await acts.purge_expired(db, None, now=due + timedelta(days=9)) == 0
    assert await acts.purge_expired(db, KEPT, now=due) == 0
    assert await acts.purge_expired(db, KEPT, now=due + timedelta(seconds=1)) == 1

    assert [each.id for each in (await trash.page(db, limit=9)).items] == [young]
    [learned, deleted, purged] = [
        row for row in await rows(db, "history") if row["memory_id"] == old
    ]
    assert (learned["before"], learned["after"]) == (None, None)
    assert (deleted["cause"], deleted["actor"], deleted["at"]) == ("deleted", "operator", NOON)
    assert (purged["cause"], purged["actor"]) == ("purged", "supervisor")


async def test_hard_delete_of_a_client_moves_the_memory_to_the_trash(db: Database) -> None:
    kept = (await knowledge.save(context(db), KNOWN, window=WINDOW)).memory

    await knowledge.remove(db, kept.id, now=LATER, by="agent shop")

    with pytest.raises(NotFound, match=f"Memory {kept.id} is in the trash"):
        await lookup.get(db, kept.id)
    assert (await acts.restore(db, kept.id, now=LATER)) == kept


async def test_ids_of_memories_in_the_trash_are_not_reused(db: Database) -> None:
    memory = (await said(db, await session(db))).memory
    await curate.delete(db, memory.id, version=None, now=LATER)

    assert await imports.highest_id(db) == memory.id
    async with writing(db):
        await imports.advance_sequence(db)
    again = await said(db, await session(db), observation="Something else entirely")

    assert again.memory.id == memory.id + 1


Deed = Callable[[Database, list[int], datetime], Coroutine[Any, Any, None]]


async def _edit(db: Database, ids: list[int], now: datetime, edit: Edit) -> None:
    await curate.edit(context(db, now), ids[0], edit, version=None)


def editing(edit: Edit) -> Deed:
    return lambda db, ids, now: _edit(db, ids, now, edit)


async def _many(db: Database, ids: list[int], now: datetime, what: BulkAction) -> None:
    await bulk.apply_action(db, ids, what, now=now)


def many(what: BulkAction) -> Deed:
    return lambda db, ids, now: _many(db, ids, now, what)


async def delete(db: Database, ids: list[int], now: datetime) -> None:
    await curate.delete(db, ids[0], version=None, now=now)


async def create(db: Database, ids: list[int], now: datetime) -> None:
    words = replace(SLOW_START, observation=f"Needs {ids[0]} workers", source=Source.OPERATOR)
    await curate.create(context(db, now), words)


async def restore(db: Database, ids: list[int], now: datetime) -> None:
    thrown = await trash.page(db, limit=1)
    if thrown.items:
        await acts.restore(db, thrown.items[0].id, now=now)


async def revert(db: Database, ids: list[int], now: datetime) -> None:
    step = [row for row in await rows(db, "history") if row["memory_id"] == ids[0]][-1]
    await undo.undo_step(db, ids[0], step["id"], version=None, now=now)


async def resolve(db: Database, ids: list[int], now: datetime, resolution: Resolution) -> None:
    waiting = [row["id"] for row in await rows(db, "reviews") if row["state"] == "open"]
    words = {"observation": "Takes 60s, or 600s when cold"} if resolution == "merge" else {}
    scope = {"old_scope": "when warm"} if resolution == "both" else {}
    answer = ReviewAnswer(resolution=resolution, **words, **scope)
    if waiting:
        await review.resolve(context(db, now), waiting[0], answer, version=None)


def resolving(resolution: Resolution) -> Deed:
    return lambda db, ids, now: resolve(db, ids, now, resolution)


async def reset(db: Database, ids: list[int], now: datetime) -> None:
    await act.reset_cooldowns(db, "Web", None, services=Services(()), now=now)


DEEDS = [
    *(
        editing(each)
        for each in (
            Edit(observation="Takes 5 minutes"),
            Edit(confidence=0.2),
            Edit(confidence=0.95, pinned=True),
            Edit(service="plex", category=Category.BEHAVIOR, tags=("a", "b")),
            Edit(title="Slow", active=False),
        )
    ),
    *(
        many(each)
        for each in (
            BulkAction(action="delete"),
            BulkAction(action="confidence", value=0.25),
            BulkAction(action="adjust", value=-0.1),
            BulkAction(action="deactivate"),
            BulkAction(action="activate"),
        )
    ),
    *(resolving(each) for each in Resolution if each is not Resolution.GONE),
    *(delete, create, restore, revert, reset),
]


async def test_undone_restore_leaves_the_trash_unchanged(
    db: Database,
) -> None:
    memory = (await said(db, await session(db))).memory
    await curate.delete(db, memory.id, version=None, now=LATER)
    before = await rows(db, "trash")
    for days in range(1, 4):
        now = LATER + timedelta(days=days)
        await acts.restore(db, memory.id, now=now)
        await acts.undo(db, number(), now=now)
        assert await rows(db, "trash") == before


async def test_undone_restore_keeps_the_closing_time_of_reviews(
    db: Database,
) -> None:
    old = await lived(db)
    [review] = await rows(db, "reviews")
    new_id = review["new_id"]
    for number_of_days, gone in enumerate((old.id, new_id), 1):
        await curate.delete(db, gone, version=None, now=LATER + timedelta(days=number_of_days))
    await acts.restore(db, old.id, now=LATER + timedelta(days=3))
    [ended] = await rows(db, "reviews")
    assert ended["resolved_at"] == LATER + timedelta(days=1)

    for days in (4, 6):
        await acts.restore(db, new_id, now=LATER + timedelta(days=days))
        assert [each["state"] for each in await rows(db, "reviews")] == ["open"]
        await acts.undo(db, number(), now=LATER + timedelta(days=days + 1))
        [now_is] = await rows(db, "reviews")
        assert {**now_is, "version": 0} == {**ended, "version": 0}


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    deeds=st.lists(
        st.tuples(st.sampled_from(DEEDS), st.integers(1, 3), st.integers(0, 9_999)),
        min_size=1,
        max_size=6,
    ),
    now=st.sampled_from([LATER, SPRING]),
)
async def test_acts_undone_in_reverse_order_restore_the_same_rows(
    db: Database, deeds: list[tuple[Deed, int, int]], now: datetime
) -> None:
    by = await session(db)
    await lived(db)
    await believed(db, by, observation=f"Listens on port {by.id}")
    await acted(db, by)
    done: list[tuple[int, dict[str, list[dict[str, Any]]]]] = []
    for deed, count, seed in deeds:
        before, now = await state(db), now + timedelta(minutes=1)
        ids = [row["id"] for row in before["memories"]] or [1]
        chosen = Random(seed).sample(ids, min(count, len(ids)))
        recorded.set(None)
        try:
            await deed(db, chosen, now)
        except (Conflict, NotFound):
            assert await state(db) == before
            continue
        if recorded.get() is not None:
            done.append((number(), before))
    entries = len(await rows(db, "history"))

    for made, before in reversed(done):
        now += timedelta(minutes=1)
        await acts.undo(db, made, now=now)
        after = await state(db)
        # what an undo takes away is in the trash too
        before["trash"] = [each for each in after["trash"] if each not in before["trash"]] + (
            before["trash"]
        )
        assert {**after, "trash": sorted(map(str, after["trash"]))} == {
            **before,
            "trash": sorted(map(str, before["trash"])),
        }

    assert len(await rows(db, "history")) >= entries
    for made, _ in done:
        entry = await journal.get(db, made)
        assert entry is not None
        assert entry.undone_by is not None
