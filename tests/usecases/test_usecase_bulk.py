"""A bulk operation on memories, as if each were changed alone; and its undo."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import LATER, NOON, SLOW_START, held, rows
from hypothesis import given
from hypothesis import strategies as st
from test_usecase_fade_rule import LOOSE, ROWS, unhashed, written

import direct_writes
from contexts import context
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.memory.decay import apply_decay
from lamplighter.domain.memory.memory import Category, Edit, Memory, clamp
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.store import driver
from lamplighter.repository.store.dialect import stamp
from lamplighter.repository.upkeep import batches
from lamplighter.repository.upkeep.batches import FIRST
from lamplighter.usecases.memory import bulk, curate, journal, lookup, undo
from lamplighter.usecases.memory.bulk import BulkAction

ACTS = st.one_of(
    st.builds(
        BulkAction,
        action=st.sampled_from(["confidence", "adjust"]),
        value=st.sampled_from([-7.0, -0.35, -0.1, 0.0, 0.05, 0.29, 0.3, 0.7, 2.0]),
    ),
    st.builds(BulkAction, action=st.sampled_from(["activate", "deactivate", "confirm"])),
)
SOME = [0.1, 0.29, 0.3, 0.5, 0.95]


async def made(db: Database, *confidences: float, **more: Any) -> list[int]:
    found = []
    for confidence in confidences:
        candidate = replace(SLOW_START, confidence=confidence, **more)
        found.append(await curate.create(context(db), candidate))
    return [memory.id for memory in found]


async def stood(db: Database) -> list[tuple[float, bool, str | None]]:
    return [(each.confidence, each.active, each.inactive_reason) for each in await held(db)]


def alone(memory: Memory, act: BulkAction) -> Memory:
    if memory.confidence > 0:
        memory = apply_decay(memory, now=NOON)
    return act.after(memory, now=NOON)


@LOOSE
@given(given=st.lists(ROWS, min_size=1, max_size=20), act=ACTS)
async def test_bulk_act_equals_single_acts_and_can_be_undone(
    db: Database, url: str, given: list[dict[str, Any]], act: BulkAction
) -> None:
    given = [
        {**row, "age": abs(row["age"]), "confidence": clamp(row["confidence"])} for row in given
    ]
    await asyncio.to_thread(written, url, given, NOON)
    before = await held(db)
    wanted = [alone(each, act) for each in before]
    weaker = [apply_decay(each, now=NOON) if each.confidence > 0 else each for each in before]
    changed = [new.id for old, new in zip(weaker, wanted, strict=True) if old != new]

    done = await bulk.apply_action(db, MemoryFilter(), act, now=NOON)

    assert unhashed(await held(db)) == unhashed(wanted)
    assert done.ids == changed
    entries = {
        row["memory_id"]: (row["before"], row["after"])
        for row in await rows(db, "history")
        if row["act_id"] == done.act and row["cause"] == "edited"
    }
    assert entries == {
        old.id: (history.state(old), history.state(new))
        for old, new in zip(weaker, wanted, strict=True)
        if old != new
    }

    back = await journal.undo(db, done.act, now=LATER)

    assert set(changed) <= set(back.ids)
    assert back.left == 0
    versions = {each.id: each.version for each in await held(db)}
    assert unhashed(await held(db)) == unhashed(
        [replace(each, version=versions[each.id]) for each in before]
    )


@LOOSE
@given(given=st.lists(ROWS, min_size=1, max_size=20), act=ACTS)
async def test_bulk_preview_equals_the_effect_of_the_act(
    db: Database, url: str, given: list[dict[str, Any]], act: BulkAction
) -> None:
    await asyncio.to_thread(written, url, given, NOON)
    before = await held(db)
    after = [act.after(each, now=NOON) for each in before]
    moved = [(old, new) for old, new in zip(before, after, strict=True) if old != new]

    found = await bulk.preview(db, MemoryFilter(), act, now=NOON)

    assert (found.matched, found.changed) == (len(before), len(moved))
    assert found.falling == sum(old.active and not new.active for old, new in moved)
    assert found.rising == sum(new.active and not old.active for old, new in moved)
    assert set(found.examples) <= set(moved)
    assert len(found.examples) == min(len(moved), bulk.EXAMPLES)
    assert await held(db) == before
    assert not [row for row in await rows(db, "history") if row["cause"] == "edited"]


async def test_preview_of_a_deletion_lists_memories_and_deletes_none(db: Database) -> None:
    ids = await made(db, 0.9, 0.5)

    found = await bulk.preview(db, ids[:1], BulkAction(action="delete"), now=NOON)

    assert (found.matched, found.changed) == (1, 1)
    assert [(old.id, new) for old, new in found.examples] == [(ids[0], None)]
    assert len(await held(db)) == 2


async def test_preview_lists_state_changes_first_and_counts_unchanged_low_memories(
    db: Database,
) -> None:
    ids = await made(db, 0.9, 0.35, 0.1)

    lowered = await bulk.preview(db, ids, BulkAction(action="adjust", value=-0.1), now=NOON)
    switched = await bulk.preview(db, ids, BulkAction(action="activate"), now=NOON)

    assert [old.id for old, _ in lowered.examples] == [ids[1], ids[0], ids[2]]
    assert (lowered.falling, lowered.rising) == (1, 0)
    assert (switched.matched, switched.changed, switched.left) == (3, 0, 1)


@pytest.mark.parametrize(
    ("act", "after", "left"),
    [
        (BulkAction(action="confidence", value=0.25), [(0.25, False, "low")] * 5, 0),
        (
            BulkAction(action="adjust", value=0.2),
            [
                (0.3, True, None),
                (0.49, True, None),
                (0.5, True, None),
                (0.7, True, None),
                (1.0, True, None),
            ],
            0,
        ),
        (
            BulkAction(action="deactivate"),
            [
                (0.1, False, "low"),
                (0.29, False, "low"),
                (0.3, False, "operator"),
                (0.5, False, "operator"),
                (0.95, False, "operator"),
            ],
            0,
        ),
        (
            BulkAction(action="activate"),
            [
                (0.1, False, "low"),
                (0.29, False, "low"),
                (0.3, True, None),
                (0.5, True, None),
                (0.95, True, None),
            ],
            2,
        ),
    ],
    ids=lambda each: each.action if isinstance(each, BulkAction) else "",
)
async def test_bulk_acts_change_each_memory_as_declared(
    db: Database, act: BulkAction, after: list[tuple[float, bool, str | None]], left: int
) -> None:
    ids = await made(db, *SOME)

    done = await bulk.apply_action(db, [*ids, *ids, 99], act, now=LATER)

    assert await stood(db) == after
    assert done.left == left
    entries = [row for row in await rows(db, "history") if row["act_id"] == done.act]
    assert [row["memory_id"] for row in entries] == done.ids
    assert {(row["cause"], row["actor"], row["reason"]) for row in entries} <= {
        ("edited", "operator", f"part of bulk {done.act}")
    }


async def test_bulk_act_evaluates_its_filter_once(db: Database) -> None:
    ids = await made(db, 0.3, 0.5)
    others = await made(db, 0.5, service="caddy")

    act = BulkAction(action="adjust", value=-0.2)
    done = await bulk.apply_action(
        db, MemoryFilter(service="jellyfin", active=True), act, now=LATER
    )

    assert done.ids == ids
    assert await stood(db) == [(0.1, False, "low"), (0.3, True, None), (0.5, True, None)]
    assert others[0] not in done.ids


async def test_partial_undo_skips_memories_changed_later(db: Database) -> None:
    one, two, three = await made(db, 0.5, 0.6, 0.7)
    done = await bulk.apply_action(
        db, MemoryFilter(), BulkAction(action="confidence", value=0.2), now=LATER
    )
    await curate.edit(context(db, LATER), two, Edit(confidence=0.9), version=None)
    await curate.delete(db, three, version=None, now=LATER)

    with pytest.raises(Conflict, match=r"Memory 2 was later edited by the operator \(version 3\)"):
        await journal.undo(db, done.act, now=LATER)
    back = await journal.undo(db, done.act, now=LATER, partly=True)

    assert (back.ids, back.left) == ([one], 2)
    assert await stood(db) == [(0.5, True, None), (0.9, True, None)]


async def test_undo_is_an_act_that_cannot_be_undone(db: Database) -> None:
    await made(db, 0.5, 0.6)
    before = await held(db)
    done = await bulk.apply_action(db, MemoryFilter(), BulkAction(action="deactivate"), now=LATER)

    back = await journal.undo(db, done.act, now=LATER)
    assert [replace(each, version=1) for each in await held(db)] == before
    with pytest.raises(Conflict, match="is itself an undo"):
        await journal.undo(db, back.act, now=LATER)

    [entry, *_] = (await history.of_memory(db, before[0].id, limit=9)).items
    assert (entry.cause, entry.actor, entry.reason) == (
        "undone",
        "operator",
        f"undoes act {done.act}",
    )


async def test_step_undone_in_bulk_cannot_be_undone_again(db: Database) -> None:
    [one] = await made(db, 0.7)
    done = await bulk.apply_action(db, [one], BulkAction(action="adjust", value=0.2), now=LATER)
    await journal.undo(db, done.act, now=LATER)
    steps = (await history.of_memory(db, one, limit=9)).items

    able = [each for _, each in await undo.with_undo_state(db, one, steps)]
    with pytest.raises(Conflict, match=r"already undone in version 3"):
        await undo.undo_step(db, one, steps[1].id, version=None, now=LATER)

    assert able == [True, False, True]
    again = await undo.undo_step(db, one, steps[0].id, version=None, now=LATER)
    assert again.confidence == 0.9


async def test_bulk_deletion_blanks_the_memories_in_the_feed(db: Database) -> None:
    ids = await made(db, 0.5, 0.6, observation="Secret words")
    kept = await made(db, 0.7)

    done = await bulk.apply_action(db, [*ids, *ids, 99], BulkAction(action="delete"), now=LATER)

    assert done.ids == ids
    assert [each.id for each in await held(db)] == kept
    past = [row for row in await rows(db, "history") if row["memory_id"] in ids]
    assert [row["cause"] for row in past] == ["created", "created", "deleted", "deleted"]
    told = await rows(db, "changes")
    assert not any("Secret" in (row["row"] or "") for row in told)
    assert json.loads(told[-1]["row"]) == {"ids": ids, "op": "deleted"}
    await journal.undo(db, done.act, now=LATER)
    assert [each.id for each in await held(db)] == [*ids, *kept]


async def test_an_unknown_act_cannot_be_undone(db: Database) -> None:
    with pytest.raises(NotFound):
        await journal.undo(db, 7, now=LATER)


async def test_bulk_act_applies_due_fading_first(db: Database) -> None:
    [one] = await made(db, 0.7)
    later = NOON + timedelta(days=44)

    await bulk.apply_action(db, [one], BulkAction(action="adjust", value=0.05), now=later)

    memory = await lookup.get(db, one)
    assert (memory.confidence, memory.updated_at, memory.decayed_weeks) == (0.55, later, 0)
    causes = [entry.cause for entry in (await history.of_memory(db, one, limit=9)).items]
    assert causes == ["edited", "faded", "created"]


async def test_completed_batches_survive_a_failure_and_can_be_undone(
    db: Database, url: str
) -> None:
    row = f"('timing', 'Takes 60s', 0.7, '{stamp(NOON)}', '{stamp(NOON)}')"
    names = "category, observation, confidence, created_at, updated_at"
    direct_writes.run(url, f"INSERT INTO memories ({names}) VALUES {', '.join([row] * 1_200)}")
    direct_writes.refuse(url, "UPDATE ON memories", "not this one", only_if="old.id = 700")
    count = "SELECT count(*) FROM memories WHERE active = 0"

    with pytest.raises(driver.DatabaseError, match="not this one"):
        await bulk.apply_action(db, MemoryFilter(), BulkAction(action="deactivate"), now=LATER)
    done = direct_writes.run(url, count)
    back = await journal.undo(db, 1, now=LATER)

    assert done == [(FIRST,)]
    assert (len(back.ids), back.left) == (FIRST, 0)
    assert direct_writes.run(url, count) == [(0,)]


@pytest.mark.parametrize("action", ["deactivate", "delete"])
async def test_bulk_act_that_is_undone_while_it_runs_stops_and_leaves_no_change(
    db: Database, url: str, monkeypatch: pytest.MonkeyPatch, action: Any
) -> None:
    row = f"('timing', 'Takes 60s', 0.7, '{stamp(NOON)}', '{stamp(NOON)}')"
    names = "category, observation, confidence, created_at, updated_at"
    direct_writes.run(url, f"INSERT INTO memories ({names}) VALUES {', '.join([row] * 1_200)}")
    undone: list[journal.RevertResult] = []

    async def undo_then_rest(*_: Any) -> None:
        if not undone:
            undone.append(await journal.undo(db, 1, now=LATER))

    monkeypatch.setattr(batches, "_rest", undo_then_rest)

    with pytest.raises(Conflict, match=r"Act 1 was undone while .* It stopped there."):
        await bulk.apply_action(db, MemoryFilter(), BulkAction(action=action), now=LATER)

    assert [len(each.ids) for each in undone] == [FIRST]
    assert direct_writes.run(url, "SELECT count(*) FROM memories WHERE active = 1") == [(1_200,)]
    with pytest.raises(Conflict, match="Act 1 was already undone by act 2"):
        await journal.undo(db, 1, now=LATER)


async def test_bulk_act_within_a_transaction_is_rolled_back_with_it(db: Database) -> None:
    await made(db, 0.5, 0.6)

    async def broken() -> None:
        async with writing(db):
            await bulk.apply_action(db, MemoryFilter(), BulkAction(action="deactivate"), now=LATER)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken()

    assert await memories.count(db, MemoryFilter(active=True)) == 2
    assert await memories.count(db, MemoryFilter(category=Category.TIMING)) == 2
