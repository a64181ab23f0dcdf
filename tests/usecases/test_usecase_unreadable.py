"""An unreadable row that a person wrote in SQL blocks nothing, and can be deleted."""

from dataclasses import replace
from datetime import timedelta

import pytest
from examples import LATER, NOON, SLOW_START, held, rows, said, session

import direct_writes
from confidences import UP, WEEK, after
from contexts import context
from lamplighter.domain.memory.memory import Edit
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.relate.reconcile import ReconcileOutcome
from lamplighter.repository import Database
from lamplighter.repository.memory import json_rows, memories
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort
from lamplighter.repository.store.database import is_postgres
from lamplighter.repository.store.unreadable import Unreadable
from lamplighter.usecases.memory import bulk, curate, lookup
from lamplighter.usecases.memory.analyze import catch_up
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.sessions.prompts import build_memory_context

LONG_AFTER = NOON + timedelta(days=44)
FAULTS = [
    ("tags", "'" + "[" * 100_000 + "'"),
    ("category", "'misc'"),
    ("category", "'Timing'"),
    ("updated_at", "'yesterday'"),
    ("updated_at", "'1760000000'"),
    ("updated_at", "'2026-13-45T99:99:99.000000Z'"),
    ("created_at", "''"),
    ("tags", "'none'"),
    ("confidence", "1.5"),
    ("confidence", "-0.1"),
]
SQLITE = [
    ("confidence", "9e999"),
    ("confidence", "'high'"),
    ("observation", "X'fffe'"),
    ("service", "X'fffe'"),
    ("updated_at", "X'fffe'"),
    ("decayed_weeks", "'many'"),
]
POSTGRES = [("confidence", "'Infinity'"), ("confidence", "'NaN'")]


@pytest.fixture(params=[*FAULTS, *SQLITE, *POSTGRES], ids=lambda each: " ".join(each)[:40])
async def bad(request: pytest.FixtureRequest, db: Database, url: str) -> tuple[int, str]:
    """Break one of two memories by SQL; return its id and the changed column."""
    column, value = request.param
    if request.param in (POSTGRES if not is_postgres(url) else SQLITE):
        pytest.skip("the other database takes that")
    for service in ("jellyfin", "plex"):
        candidate = replace(SLOW_START, service=service)
        memory = await curate.create(context(db), candidate)
    broken = await curate.create(context(db), SLOW_START)
    assert memory.id < broken.id
    direct_writes.run(url, f"UPDATE memories SET {column} = {value} WHERE id = {broken.id}")
    return broken.id, column


async def test_unreadable_row_is_skipped_by_sessions(db: Database, bad: tuple[int, str]) -> None:
    number, _ = bad

    block = await build_memory_context(db, focus=["jellyfin"])
    assert [each.memory.id for each in block.placements] == [1, 2]
    await catch_up(db, builtin_lexicon())
    again = await said(db, await session(db))
    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, 1)
    await fade(db, now=LONG_AFTER)
    stood = await memories.by_ids(db, [1, 2, number])  # type: ignore[list-item]
    assert {each.id: each.confidence for each in stood.values()} == {
        1: after(UP, WEEK, WEEK),
        2: after(WEEK, WEEK),
    }


async def test_unreadable_row_is_omitted_from_every_list(
    db: Database, bad: tuple[int, str]
) -> None:
    for sort in Sort:
        for at in (None, LATER):
            seen, position = [], None
            for _ in range(3):
                page = await memories.page(
                    db, MemoryFilter(), sort=sort, limit=1, position=position, at=at
                )
                seen += [each.id for each in page.items]
                position = page.position
                if position is None:
                    break
            assert sorted(seen) == [1, 2], (sort, at)
    for sort in Sort:
        whole = await json_rows.page(db, MemoryFilter(), Order(sort), limit=10)
        assert sorted(each["id"] for each in whole.items) == [1, 2], sort
    found = await page_on_topic(db, "takes", limit=10)
    assert [each.memory.id for each in found.beliefs] == [1, 2]


async def test_unreadable_row_reports_its_column_and_can_only_be_deleted(
    db: Database, bad: tuple[int, str]
) -> None:
    number, column = bad

    with pytest.raises(Unreadable, match=f"^Memory {number} cannot be read: its {column} is "):
        await lookup.get(db, number)
    change = Edit(confidence=0.5)
    with pytest.raises(Unreadable):
        await curate.edit(context(db, LATER), number, change, version=None)
    await curate.delete(db, number, version=None, now=LATER)

    assert [each.id for each in await held(db)] == [1, 2]
    assert [row["id"] for row in await rows(db, "memories")] == [1, 2]


async def test_bulk_act_skips_an_unreadable_row_and_bulk_deletion_deletes_it(
    db: Database, bad: tuple[int, str]
) -> None:
    done = await bulk.apply_action(
        db, MemoryFilter(), BulkAction(action="adjust", value=0.1), now=LATER
    )
    assert {1, 2} <= set(done.ids)
    await bulk.apply_action(db, MemoryFilter(), BulkAction(action="delete"), now=LATER)
    assert await rows(db, "memories") == []


async def test_readable_row_is_listed_behind_many_unreadable_rows(db: Database, url: str) -> None:
    first = await curate.create(context(db), SLOW_START)
    for _ in range(20):
        await curate.create(context(db, LATER), SLOW_START)
    direct_writes.run(url, f"UPDATE memories SET category = 'misc' WHERE id <> {first.id}")

    page = await memories.page(db, MemoryFilter(), sort=Sort.UPDATED, limit=2)

    assert ([each.id for each in page.items], page.position) == ([first.id], None)
