"""Memories as of an earlier moment show the state at that time, despite later changes."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from examples import NOON, SLOW_START, held, said, session

import direct_writes
from contexts import context
from lamplighter.domain.memory.memory import Category, Edit, Memory, MemoryKind
from lamplighter.domain.sessions.session import Session
from lamplighter.formats import serialize
from lamplighter.repository import Database
from lamplighter.repository.memory import facets, listing, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.upkeep import maintained
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.bulk import BulkAction, apply_action
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.sessions import prompts
from lamplighter.usecases.sessions.prompts import Hypothesis
from thorough import examples

PERIODS = "SELECT * FROM memory_periods ORDER BY memory_id, held_from"
STEPS = examples(30, part=2)
SERVICES = ("jellyfin", "WireGuard", None)
WORDS = ("Takes 60s to start", "Takes 90s to start", "Scans at night", "100 % CPU 'often'", "café")
PAUSES = (
    timedelta(),
    timedelta(microseconds=1),
    timedelta(seconds=3),
    timedelta(days=9),
    timedelta(days=40),
)
FILTERS = (
    MemoryFilter(),
    MemoryFilter(active=True),
    MemoryFilter(active=False),
    MemoryFilter(service="jellyfin"),
    MemoryFilter(service="general"),
    MemoryFilter(category=Category.TIMING),
    MemoryFilter(kind=MemoryKind.PROCEDURAL),
    MemoryFilter(q="START"),
    MemoryFilter(q="'often'", service="WireGuard", active=True),
)
KEYS: dict[Sort, Callable[[Memory], Any]] = {
    Sort.CONFIDENCE: lambda each: (-each.confidence, -each.updated_at.timestamp(), each.id),
    Sort.UPDATED: lambda each: (-each.updated_at.timestamp(), -each.id),
    Sort.CREATED: lambda each: -each.id,
    Sort.SERVICE: lambda each: (each.service is None, each.service, -each.confidence, each.id),
    Sort.CATEGORY: lambda each: (each.category, -each.confidence, each.id),
    Sort.STATE: lambda each: (not each.active, -each.confidence, each.id),
    Sort.SOURCE: lambda each: (-(each.session_id or 0), -each.id),
}


async def step(db: Database, dice: random.Random, by: list[Session], *, now: datetime) -> None:
    """Change the memories at random, through one of the interfaces."""
    known = await held(db)
    words, service = dice.choice(WORDS), dice.choice(SERVICES)
    which = dice.choice(known).id if known else 0
    match dice.choice(("says",) * 4 + ("adds", "edits", "edits", "bulk", "fades", "deletes")):
        case "edits" if which:
            await curate.edit(context(db, now), which, _edit(dice), version=None)
        case "bulk" if which:
            ids = [each.id for each in dice.sample(known, min(3, len(known)))]
            act = dice.choice(
                (BulkAction(action="confidence", value=0.2), BulkAction(action="deactivate"))
            )
            await apply_action(db, ids, act, now=now)
        case "deletes" if which and len(known) > 3:
            await curate.delete(db, which, version=None, now=now)
        case "fades":
            await fade(db, now=now)
        case "adds":
            candidate = replace(SLOW_START, observation=words, service=service, confidence=0.95)
            await curate.create(context(db, now), candidate)
        case _:
            category = dice.choice((Category.TIMING, Category.REMEDIATION))
            more: dict[str, Any] = {"observation": words, "service": service}
            await said(db, dice.choice([*by, None]), now=now, category=category, **more)


def _edit(dice: random.Random) -> Edit:
    return dice.choice(
        (
            Edit(observation=dice.choice(WORDS)),
            Edit(confidence=dice.choice((0.1, 0.5, 1.0))),
            Edit(category=dice.choice((Category.BEHAVIOR, Category.REMEDIATION))),
            Edit(service=dice.choice(("general", "caddy", "jellyfin"))),
            Edit(pinned=dice.choice((True, False))),
            Edit(active=False),
        )
    )


async def listed(db: Database, wanted: MemoryFilter, sort: Sort, at: datetime) -> list[Memory]:
    """Return the whole list, page by page."""
    found: list[Memory] = []
    position: Any = None
    while True:
        page = await memories.page(db, wanted, sort=sort, limit=3, position=position, at=at)
        assert len(page.items) <= 3
        found += page.items
        if page.position is None:
            return found
        position = page.position


def fits(memory: Memory, wanted: MemoryFilter) -> bool:
    return (
        (wanted.q is None or wanted.q.lower() in memory.observation.lower())
        and (wanted.service is None or wanted.service == (memory.service or "general"))
        and wanted.category in (None, memory.category)
        and wanted.kind in (None, memory.kind)
        and wanted.active in (None, memory.active)
    )


@pytest.mark.parametrize("seed", range(examples(8)))
async def test_memories_as_of_a_time_equal_the_state_at_that_time(
    db: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FEW", 2 * (seed % 2))  # more have a text, or fewer
    dice, now = random.Random(seed), NOON
    by = [await session(db) for _ in range(3)]
    seen: dict[datetime, list[Memory]] = {NOON - timedelta(microseconds=1): []}
    for _ in range(STEPS):
        await step(db, dice, by, now=now)
        seen[now] = await held(db)  # of several steps at one moment, the last
        now += dice.choice(PAUSES)
    there = {each.id for each in await held(db)}

    for at, then in seen.items():
        then = [memory for memory in then if memory.id in there]
        for sort in dice.sample(list(Sort), 2):
            assert await listed(db, MemoryFilter(), sort, at) == sorted(then, key=KEYS[sort])
        for number in dice.sample(sorted(there), min(3, len(there))):
            was = next((each for each in then if each.id == number), None)
            assert await memories.get(db, number, at=at) == was
        for wanted in dice.sample(FILTERS, 3):
            matching = [each for each in then if fits(each, wanted)]
            assert await listed(db, wanted, Sort.CREATED, at) == matching[::-1]
            assert await memories.count(db, wanted, at=at) == len(matching)
            found = await facets.facets(db, wanted, at=at)
            for name, counts in (("service", found.services), ("category", found.categories)):
                free = [each for each in then if fits(each, replace(wanted, **{name: None}))]
                assert Counter(dict(counts)) == Counter(getattr(each, name) for each in free)
            free = [each for each in then if fits(each, replace(wanted, active=None))]
            active = sum(each.active for each in free)
            assert found.states == {"active": active, "inactive": len(free) - active}


@pytest.mark.parametrize("budget", [0, 60, 2_000])
async def test_preview_as_of_a_time_equals_the_prompt_at_that_time(
    db: Database, budget: int
) -> None:
    dice, now = random.Random(42), NOON
    by = [await session(db) for _ in range(3)]
    kept: list[tuple[datetime, Any]] = []
    for _ in range(STEPS):
        candidates = [each.id for each in await held(db)]
        if not candidates or dice.random() < 0.5:
            words = f"{dice.choice(WORDS)} {dice.randrange(9)}"
            await said(db, dice.choice(by), now=now, observation=words)
        else:
            change = _edit(dice)
            which = dice.choice(candidates)
            await curate.edit(context(db, now), which, change, version=None)
        kept.append((now, await prompts.build_memory_context(db, budget=budget)))
        now += timedelta(days=2)

    for at, block in kept:
        assert (
            await prompts.build_memory_context(db, budget=budget, what_if=Hypothesis(at=at))
            == block
        )


async def test_old_history_entry_without_all_fields_uses_current_values(
    db: Database, url: str
) -> None:
    first = (await said(db, None)).memory
    change = Edit(observation="Takes 90s", category=Category.BEHAVIOR, service="caddy")
    now = NOON + timedelta(hours=1)
    newer = await curate.edit(context(db, now), first.id, change, version=None)
    old = json.dumps({"observation": first.observation, "confidence": 0.5, "active": True})
    fill = maintained.PERIODS_SQLITE if url.startswith("sqlite") else maintained.PERIODS_POSTGRES
    maintained_rows = direct_writes.run(url, PERIODS)
    direct_writes.run(url, "DELETE FROM memory_periods")
    direct_writes.run(url, fill[0])
    assert direct_writes.run(url, PERIODS) == maintained_rows
    assert (await listed(db, MemoryFilter(q="60S"), Sort.SOURCE, NOON)) != []
    assert (await listed(db, MemoryFilter(q="60S"), Sort.SOURCE, now)) == []

    direct_writes.run(url, f"UPDATE history SET before = '{old}' WHERE cause = 'edited'")
    direct_writes.run(url, "DELETE FROM memory_periods")
    direct_writes.run(url, fill[0])  # as when the table came

    was = await memories.get(db, first.id, at=NOON)

    assert was == replace(
        newer,
        observation=first.observation,
        confidence=0.5,
        version=1,
        content_hash=first.content_hash,
    )


async def test_temporarily_wrong_clock_hides_no_later_changes(db: Database) -> None:
    wrong = NOON + timedelta(days=365)
    first = (await said(db, None)).memory
    for now, confidence in ((wrong, 0.4), (NOON + timedelta(hours=1), 0.5)):
        change = Edit(confidence=confidence)
        await curate.edit(context(db, now), first.id, change, version=None)

    shown = [
        await memories.get(db, first.id, at=NOON + timedelta(hours=hours)) for hours in (0, 1, 2)
    ]

    assert [each and each.confidence for each in shown] == [0.7, 0.5, 0.5]
    assert await memories.count(db, MemoryFilter(), at=NOON + timedelta(hours=2)) == 1


async def test_row_written_outside_the_app_exists_from_its_creation(db: Database, url: str) -> None:
    direct_writes.run(
        url,
        "INSERT INTO memories (category, observation, confidence, active, created_at, updated_at)"
        " VALUES ('timing', 'x', 0.7, 1, '2026-01-01T12:00:00Z', '2026-01-01T12:00:00Z')",
    )

    assert await memories.get(db, 1, at=NOON - timedelta(seconds=1)) is None
    found = await memories.get(db, 1, at=NOON + timedelta(seconds=1))
    assert found is not None
    assert serialize.format_moment(found.created_at) == serialize.format_moment(NOON)
