"""The named filters of a list of memories."""

import itertools
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from lamplighter.domain.memory.decay import inactive_from
from lamplighter.domain.memory.memory import Candidate, Category, Memory, with_confidence
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import facets, history, listing, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort, View
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store.tables import exposures, reviews
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NARROWER: tuple[dict[str, Any], ...] = ({}, {"scope": "global"}, {"service": "caddy"})
SLOW = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    tier=1,
    session_id=None,
)


async def kept(db: Database, **more: Any) -> Memory:
    async with writing(db):
        return await memories.insert(db, replace(SLOW, **more), now=NOON)


async def session(db: Database) -> int:
    async with writing(db):
        return (await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)).id


async def happened(db: Database, memory: Memory, cause: str, actor: str, by: int | None) -> None:
    async with writing(db):
        why = history.ChangeOrigin(cause=cause, actor=actor, session_id=by)
        await history.append(db, memory, memory, why, now=NOON)


async def listed(db: Database, wanted: MemoryFilter) -> list[int]:
    page = await memories.page(db, wanted, sort=Sort.CREATED, limit=200)
    assert await memories.count(db, wanted) == len(page.items)
    return [each.id for each in page.items][::-1]


async def test_ids_filter_selects_the_given_memories(db: Database) -> None:
    first, second, third = [await kept(db, service=name) for name in ("caddy", "dns", "caddy")]

    found = await listed(db, MemoryFilter(ids=(first.id, second.id, 10**9)))

    assert found == [first.id, second.id]
    assert await listed(db, MemoryFilter(service="caddy", ids=(second.id, third.id))) == [third.id]
    assert not MemoryFilter(ids=(first.id,)).everything


@pytest.mark.parametrize("days", [0, 30, 36, 37, 44, 51, 65, 80])
async def test_fading_view_agrees_with_the_fade_rule(db: Database, days: int) -> None:
    await kept(db, category=Category.DECISION)
    async with writing(db):
        await memories.update(db, replace(await kept_pinned(db), pinned=True), now=NOON)
    sure = [0.2, 0.3, 0.31, 0.35, 0.39, 0.4, 0.57, 0.58, 0.7, 1.0]
    for confidence, weeks, age in itertools.product(sure, [0, 1, 3], [0, 20]):
        memory = await kept(db, confidence=confidence)
        then = replace(
            with_confidence(memory, confidence),
            decayed_weeks=weeks,
            updated_at=NOON - age * DAY,
        )
        async with writing(db):
            await memories.update(db, then, now=NOON)
    by = NOON + days * DAY

    found = await listed(db, MemoryFilter(view=View.FADING, by=by))

    held = (await memories.page(db, MemoryFilter(), sort=Sort.CREATED, limit=200)).items[::-1]
    falls = [(each.id, inactive_from(each)) for each in held]
    assert found == [number for number, at in falls if at is not None and at <= by]


async def kept_pinned(db: Database) -> Memory:
    return await memories.insert(db, SLOW, now=NOON)


async def test_unused_view_lists_memories_in_no_prompt(db: Database) -> None:
    told, left_out, unheard = [(await kept(db)).id for _ in range(3)]
    number = await session(db)
    row = {"session_id": number, "version": 1, "why": "", "line": ""}
    async with writing(db):
        await db.execute(sa.insert(exposures).values(memory_id=told, position=1, **row))
        await db.execute(sa.insert(exposures).values(memory_id=left_out, position=None, **row))

    assert await listed(db, MemoryFilter(view=View.UNUSED)) == [left_out, unheard]


async def test_single_source_view_lists_memories_of_only_one_session(db: Database) -> None:
    one, other = await session(db), await session(db)
    alone, twice_by_one, by_two = [await kept(db, session_id=one) for _ in range(3)]
    await happened(db, twice_by_one, "reinforced", "session", one)
    await happened(db, by_two, "reinforced", "session", other)
    by_hand = await kept(db)
    await happened(db, by_hand, "reinforced", "session", one)
    await happened(db, alone, "faded", "supervisor", None)

    assert await listed(db, MemoryFilter(view=View.SINGLE)) == [alone.id, twice_by_one.id]


async def test_edited_view_lists_memories_that_an_operator_edited(db: Database) -> None:
    changed, created, said_again = [await kept(db) for _ in range(3)]
    await happened(db, changed, "edited", "operator", None)
    await happened(db, created, "created", "operator", None)
    await happened(db, said_again, "reinforced", "session", None)

    assert await listed(db, MemoryFilter(view=View.EDITED)) == [changed.id]


async def test_in_review_filter_lists_both_memories_of_an_open_review(db: Database) -> None:
    old, new, settled, beside = [(await kept(db)).id for _ in range(4)]
    case = {"kind": "conflict", "category": "timing", "reason": "", "said": "", "created_at": NOON}
    async with writing(db):
        for state, first, second in (("open", old, new), ("resolved", settled, beside)):
            values = {**case, "state": state, "old_id": first, "new_id": second, "version": 1}
            await db.execute(sa.insert(reviews).values(values))

    assert await listed(db, MemoryFilter(in_review=True)) == [old, new]
    asked = MemoryFilter(active=True, in_review=True)
    assert (await facets.facets(db, asked)).states == {"active": 4, "inactive": 0, "review": 2}


async def test_view_counts_apply_the_other_filters(db: Database) -> None:
    await kept(db)
    await happened(db, await kept(db, service="caddy"), "edited", "operator", None)
    wanted = MemoryFilter(service="caddy", view=View.FADING, by=NOON + 65 * DAY)

    found = await facets.views(db, wanted)

    assert found == {"fading": 1, "unused": 1, "single": 1, "edited": 1}
    assert await facets.views(db, replace(wanted, service="jellyfin", by=NOON)) == {
        "fading": 0,
        "unused": 1,
        "single": 1,
        "edited": 0,
    }


@pytest.mark.parametrize("few", [0, 1, 2_000])
async def test_facet_and_view_counts_of_a_text_agree_for_few_and_many_matches(
    db: Database, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(listing, "FEW", few)
    texts = ["Takes 60s", "TAKES 5s", "It fades", "Waits", "takes 100% of it"]
    for text in texts:
        await kept(db, observation=text, confidence=0.31)
    for word in ("takes", "100%", "a", "zzz"):
        count = sum(word in text.lower() for text in texts)
        selection = MemoryFilter(q=word, by=NOON + 90 * DAY)

        now, then = [await facets.facets(db, selection, at=at) for at in (None, NOON)]
        views = await facets.views(db, selection)

        services = [("jellyfin", count)] if count else []
        assert (now.services, then.services) == (services, services)
        assert [views[name] for name in (View.UNUSED, View.SINGLE, View.FADING)] == [count] * 3
        assert len(await listed(db, replace(selection, by=None))) == count


@pytest.mark.parametrize("few", [0, 2_000])
async def test_title_matches_are_counted_with_the_other_filters(
    db: Database, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(listing, "FEW", few)
    for scope, service in (("project", "jellyfin"), ("global", "caddy")):
        await kept(db, title="Slow start", scope=scope, service=service)
    selection = MemoryFilter(q="slow", scope="global", by=NOON + 90 * DAY)

    assert (await facets.facets(db, selection)).services == [("caddy", 1)]
    assert (await facets.views(db, selection))[View.UNUSED] == 1
    assert await listed(db, replace(selection, by=None)) == [2]


@pytest.mark.parametrize("seed", range(examples(6)))
async def test_lists_and_counts_of_a_text_equal_a_linear_search(
    db: Database, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr(listing, "FEW", (0, 1, 2_000)[seed % 3])
    texts = ("Slow at 9", "SLOW 100%", "Waits", "It is slow_", "9")
    edited = set()
    for _ in range(12):
        which = {
            "service": dice.choice(("caddy", None)),
            "scope": dice.choice(("project", "global")),
        }
        title = dice.choice(("", "", *texts))
        memory = await kept(db, observation=dice.choice(texts), title=title, **which)
        if dice.random() < 0.4:
            await happened(db, memory, "edited", "operator", None)
            edited.add(memory.id)
    held = (await memories.page(db, MemoryFilter(), sort=Sort.CREATED, limit=50)).items
    for word in ("slow", "SLOW", "9", "%", "_", "s", "zzz"):
        for more in NARROWER:
            wanted = MemoryFilter(q=word, by=NOON + 90 * DAY, **more)
            matching = [
                each
                for each in held
                if word.lower() in f"{each.title}\n{each.observation}".lower()
                and all(getattr(each, name) == value for name, value in more.items())
            ]
            views = await facets.views(db, wanted)
            states = (await facets.facets(db, wanted)).states

            assert (
                await listed(db, replace(wanted, by=None)) == [each.id for each in matching][::-1]
            )
            assert views[View.EDITED] == sum(each.id in edited for each in matching)
            assert views[View.FADING] == views[View.UNUSED] == len(matching)
            assert states["active"] == len(matching)
