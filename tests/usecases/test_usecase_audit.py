"""The audit of a topic: each memory with all evidence for and against it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import LATER, NOON, SLOW_START, said, session

import direct_writes
from contexts import context
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.intents import MemoryLink
from lamplighter.domain.memory.memory import Category, Edit, Memory
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.formats.audit import NAMED, Audit, as_json
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, links, memories
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.sessions import sessions

DAY = timedelta(days=1)


async def known(db: Database, observation: str, **more: Any) -> Memory:
    candidate = replace(SLOW_START, observation=observation, tier=0, **more)
    return await curate.create(context(db), candidate)


def ids(found: Audit) -> list[int]:
    return [each.memory.id for each in found.beliefs]


async def asked(db: Database, topic: str = "jellyfin", **more: Any) -> Audit:
    return await page_on_topic(db, topic, **{"limit": 50, **more})


async def test_audit_topic_matches_service_spellings_and_words(db: Database) -> None:
    await known(db, "Starts slowly", service="WireGuard")
    await known(db, "Needs wireguard", service="caddy")
    await known(db, "Is well", service="caddy", title="On WireGuard")
    await known(db, "Something else", service=None)

    found = [await asked(db, topic) for topic in ("wireGUARD", "slowly", "general", "100 %")]

    assert [(each.service, sorted(ids(each))) for each in found] == [
        ("WireGuard", [1, 2, 3]),
        ("slowly", [1]),
        (None, [4]),
        ("100 %", []),
    ]


@pytest.mark.parametrize("topic", ["", "  ", "\u200b\u202e"])
async def test_audit_rejects_an_empty_topic(db: Database, topic: str) -> None:
    with pytest.raises(Invalid):
        await asked(db, topic)


async def test_audit_pages_list_active_memories_first_by_confidence(db: Database) -> None:
    for number, confidence in enumerate((0.5, 0.9, 0.7, 0.2, 0.9, 0.1)):
        await known(db, f"Fact {number}", confidence=confidence)
    await curate.edit(context(db), 5, Edit(active=False), version=None)

    seen: list[int] = []
    position: Any = None
    while True:
        page = await asked(db, limit=2, position=position)
        assert (page.active, page.inactive) == (3, 3)
        seen += ids(page)
        if page.position is None:
            break
        position = page.position

    assert seen == [2, 3, 1, 5, 4, 6]


async def test_audit_lists_confirmations_contradictions_and_prompts(db: Database) -> None:
    first, second, third = [await session(db) for _ in range(3)]
    held = (await said(db, first)).memory
    await said(db, second, now=LATER)
    await said(db, third, now=LATER + DAY)
    async with writing(db):
        memory = await memories.get(db, held.id)
        assert memory is not None
        weaker = replace(memory, confidence=0.7, version=memory.version + 1)
        await memories.update(db, weaker, now=LATER)
        why = history.ChangeOrigin(cause="contradicted", actor="session", session_id=first.id)
        await history.append(db, memory, weaker, why, now=LATER + 2 * DAY)
    opened = await sessions.begin(
        db, SessionPlan(), services=Services(), epoch=1, now=LATER + 3 * DAY
    )

    [belief] = (await asked(db)).beliefs

    tallies = (belief.confirmed, belief.contradicted, belief.included)
    assert [
        (each.count, [(voice.session_id, voice.at) for voice in each.occurrences])
        for each in tallies
    ] == [
        (2, [(third.id, LATER + DAY), (second.id, LATER)]),
        (1, [(first.id, LATER + 2 * DAY)]),
        (1, [(opened.session.id, LATER + 3 * DAY)]),
    ]
    assert (belief.memory.session_id, belief.memory.tier) == (first.id, 1)


async def test_audit_lists_links_of_both_memories_and_open_reviews(db: Database, url: str) -> None:
    old = await known(db, "Takes 60s")
    new = await known(db, "Takes 90s", category=Category.BEHAVIOR)
    async with writing(db):
        await links.insert(db, MemoryLink(new.id, old.id, "contradicts"), now=NOON)
        await links.insert(db, MemoryLink(old.id, 99, "supersedes"), now=LATER)
    for state in ("open", "resolved"):
        direct_writes.run(
            url,
            "INSERT INTO reviews (kind, state, old_id, new_id, category, said, created_at)"
            f" VALUES ('conflict', '{state}', {old.id}, {new.id}, 'timing', 'Takes 90s',"
            " '2026-01-01T12:00:00.000000Z')",
        )

    found = {each.memory.id: each for each in (await asked(db)).beliefs}

    mine, other = found[old.id], found[new.id]
    assert [
        (tie.what, tie.inward, tie.memory_id, tie.observation, tie.active)
        for tie in mine.links.links
    ] == [("supersedes", False, 99, None, False), ("contradicts", True, 2, "Takes 90s", True)]
    assert [(tie.what, tie.inward, tie.memory_id) for tie in other.links.links] == [
        ("contradicts", False, 1)
    ]
    assert [(each.cases.count, each.cases.cases[0].other_id) for each in (mine, other)] == [
        (1, 2),
        (1, 1),
    ]


async def test_audit_limits_listed_evidence_but_counts_all(db: Database) -> None:
    held = await known(db, "Starts slowly")
    count = NAMED + 5
    async with writing(db):
        for number in range(count):
            now = NOON + timedelta(minutes=number)
            why = history.ChangeOrigin(cause="reinforced", actor="session", session_id=None)
            await history.append(db, held, held, why, now=now)
            await links.insert(db, MemoryLink(held.id, held.id + 9, "revives"), now=now)

    [belief] = (await asked(db)).beliefs
    written = as_json(belief)

    assert written["confirmed"]["count"] == written["links"]["count"] == count
    assert len(written["confirmed"]["sessions"]) == len(written["links"]["items"]) == NAMED
    assert belief.confirmed.occurrences[0].at == NOON + timedelta(minutes=count - 1)


async def test_audit_uses_a_constant_number_of_queries(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[Any] = []
    fetch_all = Database.fetch_all

    async def counted(self: Database, query: Any, values: Any = None) -> Any:
        asked_for.append(query)
        return await fetch_all(self, query, values)

    monkeypatch.setattr(Database, "fetch_all", counted)
    counts = []
    for _ in range(2):
        for number in range(20):
            await known(db, f"Fact {number}")
        asked_for.clear()
        await asked(db)
        counts.append(len(asked_for))

    assert counts[0] == counts[1] < 10
