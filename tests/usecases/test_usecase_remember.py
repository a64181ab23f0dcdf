"""New observations use one function: learned, reinforced or left unchanged."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import (
    LATER,
    NOON,
    SECRETIVE,
    SLOW_START,
    held,
    rows,
    said,
    session,
)

import direct_writes
from confidences import UP, after
from contexts import context, learning
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.intents import REVIVES
from lamplighter.domain.memory.memory import Category, Edit, InactiveReason, MemoryKind
from lamplighter.domain.relate.reconcile import ReconcileOutcome
from lamplighter.formats import serialize
from lamplighter.repository import Database
from lamplighter.repository.memory import links, memories
from lamplighter.repository.store import driver
from lamplighter.repository.store.dialect import stamp
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.remember import remember


async def test_new_observation_is_learned(db: Database) -> None:
    one = await session(db, tier=2)

    result = await said(db, one, tier=2)

    assert (result.outcome, result.reason) == (ReconcileOutcome.LEARNED, "no similar memory")
    assert await held(db) == [result.memory]
    assert replace(result.memory, content_hash="") == replace(
        result.memory,
        category=Category.TIMING,
        service="jellyfin",
        observation="Takes 60s to start after restart",
        confidence=0.7,
        active=True,
        tier=2,
        session_id=one.id,
        created_at=NOON,
        updated_at=NOON,
        kind=MemoryKind.SEMANTIC,
        content_hash="",
        version=1,
    )


async def test_same_observation_of_another_session_reinforces(db: Database) -> None:
    first = await said(db, await session(db))

    again = await said(db, await session(db), now=LATER)

    assert again.outcome is ReconcileOutcome.REINFORCED
    assert again.memory == replace(first.memory, confidence=after(UP), updated_at=LATER, version=2)
    assert await held(db) == [again.memory]


async def test_reinforcement_is_limited_to_one(db: Database) -> None:
    await said(db, None, confidence=0.95)

    assert [(await said(db, await session(db))).memory.confidence for _ in range(2)] == [1.0, 1.0]


async def test_quotes_spacing_and_punctuation_are_ignored(db: Database) -> None:
    await said(db, await session(db), observation='Fails with "no route" - wait')

    again = await said(db, await session(db), observation="fails  with “no route” – wait.")

    assert again.outcome is ReconcileOutcome.REINFORCED


@pytest.mark.parametrize(
    "more",
    [
        {"category": Category.BEHAVIOR},
        {"service": "postgres"},
        {"service": None},
        {"observation": "Library scan takes 20 minutes"},
    ],
    ids=str,
)
async def test_different_text_service_or_category_is_a_new_memory(
    db: Database, more: dict[str, Any]
) -> None:
    first = await said(db, await session(db))

    other = await said(db, await session(db), **more)

    assert other.outcome is ReconcileOutcome.LEARNED
    assert await held(db) == [first.memory, other.memory]


async def test_session_does_not_reinforce_its_own_memory(db: Database) -> None:
    one = await session(db)
    first = await said(db, one)

    again = [await said(db, one, now=LATER) for _ in range(10)]

    assert {each.outcome for each in again} == {ReconcileOutcome.UNCHANGED}
    assert await held(db) == [first.memory]
    assert len(await rows(db, "history")) == 1


async def test_session_reinforces_a_memory_once(db: Database) -> None:
    await said(db, await session(db))
    two = await session(db)

    outcomes = [(await said(db, two)).outcome for _ in range(3)]

    assert outcomes == [
        ReconcileOutcome.REINFORCED,
        ReconcileOutcome.UNCHANGED,
        ReconcileOutcome.UNCHANGED,
    ]
    assert [each.confidence for each in await held(db)] == [after(UP)]


async def test_operator_memory_is_reinforced_by_a_session(db: Database) -> None:
    await curate.create(context(db), SLOW_START)

    assert (await said(db, await session(db))).memory.confidence == after(UP)


async def test_inactive_duplicate_is_revived_as_a_new_memory(db: Database) -> None:
    old = (await said(db, await session(db))).memory
    await curate.edit(context(db), old.id, Edit(confidence=0.2), version=None)

    new = await said(db, await session(db), now=LATER)

    gone, revived = await held(db)
    assert new.outcome is ReconcileOutcome.LEARNED
    assert str(old.id) in new.reason
    assert (gone.active, gone.confidence, gone.inactive_reason) == (False, 0.2, InactiveReason.LOW)
    assert (revived, revived.confidence, revived.active) == (new.memory, 0.7, True)
    assert await links.of_memory(db, revived.id) == [(old.id, REVIVES)]


async def test_active_memory_is_reinforced_beside_an_inactive_duplicate(db: Database) -> None:
    old = (await said(db, await session(db))).memory
    await curate.edit(context(db), old.id, Edit(confidence=0.2), version=None)
    new = (await said(db, await session(db))).memory

    again = await said(db, await session(db))

    assert (again.outcome, again.memory.id) == (ReconcileOutcome.REINFORCED, new.id)
    assert len(await held(db)) == 2


@pytest.mark.parametrize(
    ("first", "then", "known", "kept"),
    [
        ("Jellyfin", "JELLYFIN", (), "Jellyfin"),
        ("jellyfin", "Jellyfin", ("JellyFin",), "jellyfin"),
        ("JELLYFIN", "jellyfin", ("JellyFin",), "JellyFin"),
        ("my_svc", "My-Svc", (), "my_svc"),
    ],
)
async def test_service_has_one_spelling(
    db: Database, first: str, then: str, known: tuple[str, ...], kept: str
) -> None:
    one, two = await session(db), await session(db)
    early = () if first == "jellyfin" else known
    for service, by, names in ((first, one, early), (then, two, early)):
        candidate = replace(SLOW_START, service=service, session_id=by.id)
        await remember(learning(db, names=names), candidate, now=NOON)

    assert [(each.service, each.confidence) for each in await held(db)] == [(kept, after(UP))]


@pytest.mark.parametrize("word", ["general", "General", " GENERAL ", "", None])
async def test_general_is_stored_as_no_service(db: Database, word: str | None) -> None:
    assert (await said(db, await session(db), service=word)).memory.service is None


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Log in with hunter2-hunter2", "[REDACTED:DB_PASSWORD]"),
        ("Use sk-ant-0123456789abcdef", "[REDACTED:anthropic-key]"),
        ("Open <private>the cellar</private> first", "Open [REDACTED] first"),
        ("Open <PRIVATE>the cellar first", "Open [REDACTED]"),
    ],
)
async def test_secret_is_masked_before_storing(
    db: Database, url: str, words: str, kept: str
) -> None:
    candidate = replace(SLOW_START, observation=words, session_id=(await session(db)).id)

    result = await remember(learning(db, SECRETIVE), candidate, now=NOON)

    assert kept in result.memory.observation
    for secret in ("hunter2-hunter2", "0123456789abcdef", "cellar"):
        for table in ("memories", "history", "changes"):
            assert secret not in str(await rows(db, table))


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("two\nlines", "two lines"),
        ("\u202eevil\u202c \x1b[31mred", "evil [31mred"),
        ("  ### heading \r\n - bullet", "### heading - bullet"),
        ("é" * 2_000, "é" * 2_000),
        ("x" * 50_000, "x" * 50_000),
    ],
    ids=lambda each: each[:12],
)
async def test_operational_text_is_one_visible_line(db: Database, words: str, kept: str) -> None:
    assert (await said(db, await session(db), observation=words)).memory.observation == kept


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"observation": "x" * 50_001}, "observation"),
        ({"observation": " \u200b\n"}, "observation"),
        ({"service": "my.svc"}, "service"),
        ({"service": "x" * 65}, "service"),
        ({"title": "x" * 501}, "title"),
    ],
    ids=lambda each: str(each)[:30],
)
async def test_invalid_observation_stores_nothing(
    db: Database, more: dict[str, Any], field: str
) -> None:
    one = await session(db)
    before = await rows(db, "changes")

    with pytest.raises(Invalid) as refused:
        await said(db, one, **more)

    assert [each.field for each in refused.value.wrong] == [field]
    assert await held(db) == []
    assert await rows(db, "changes") == before


async def test_every_change_is_recorded_in_the_history(db: Database) -> None:
    one, two = await session(db), await session(db)
    await said(db, one)
    await said(db, two, now=LATER)

    learned, reinforced = await rows(db, "history")

    state = {
        "observation": "Takes 60s to start after restart",
        "confidence": 0.7,
        "active": True,
        "category": "timing",
        "service": "jellyfin",
        "inactive_reason": None,
        "pinned": False,
        "trust": "observed",
        "updated_at": stamp(NOON),
        "decayed_weeks": 0,
        "title": "",
        "tags": "[]",
        "project": "ops",
        "scope": "project",
        "topic_key": None,
        "kind": "semantic",
        "distilled": True,
        "revision_count": 1,
        "metadata": "{}",
        "expires_at": None,
        "verified_at": None,
    }
    assert learned == {
        "id": 1,
        "memory_id": 1,
        "version": 1,
        "at": NOON,
        "actor": "session",
        "session_id": one.id,
        "cause": "learned",
        "reason": "no similar memory",
        "before": None,
        "after": state,
        "review_id": None,
        "act_id": None,
    }
    assert reinforced == {
        **learned,
        "id": 2,
        "version": 2,
        "at": LATER,
        "session_id": two.id,
        "cause": "reinforced",
        "reason": "repeats the text verbatim",
        "before": state,
        "after": {**state, "confidence": after(UP), "updated_at": stamp(LATER)},
    }


async def test_every_change_is_recorded_in_the_feed_with_its_memory(db: Database) -> None:
    one, two = await session(db), await session(db)
    first = await said(db, one)
    again = await said(db, two, now=LATER)

    told = [each for each in await rows(db, "changes") if each["entity"] == "memory"]

    assert [(each["op"], each["version"], each["at"]) for each in told] == [
        ("created", 1, NOON),
        ("updated", 2, LATER),
    ]
    assert [json.loads(each["row"]) for each in told] == [
        serialize.memory(first.memory),
        serialize.memory(again.memory),
    ]


@pytest.mark.parametrize("table", ["links", "history", "changes"])
async def test_observation_is_stored_completely_or_not_at_all(
    db: Database, url: str, table: str
) -> None:
    old = (await said(db, await session(db))).memory
    await curate.edit(context(db), old.id, Edit(confidence=0.2), version=None)
    two = await session(db)
    kept = {each: await rows(db, each) for each in ("memories", "history", "links", "changes")}
    direct_writes.refuse(url, f"INSERT ON {table}", "not today")

    with pytest.raises(driver.DatabaseError, match="not today"):
        await said(db, two, now=LATER)

    assert {each: await rows(db, each) for each in kept} == kept
    assert not db.in_transaction


async def test_edited_memory_is_reinforced_by_its_new_text(db: Database) -> None:
    first = (await said(db, await session(db))).memory
    await curate.edit(context(db), first.id, Edit(observation="Takes 90s"), version=1)

    again = await said(db, await session(db), observation="Takes 90s", now=NOON + timedelta(1))

    assert (again.outcome, again.memory.version) == (ReconcileOutcome.REINFORCED, 3)
    assert await memories.get(db, first.id) == again.memory
