"""Stored memories and their history."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.change import Change, ChangeOp
from lamplighter.domain.memory.intents import REVIVES, MemoryLink
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    Source,
    Trust,
    apply_edit,
)
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.domain.text import content_hash
from lamplighter.formats import serialize
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import facets, history, links, memories, trash
from lamplighter.repository.memory.history import ChangeOrigin
from lamplighter.repository.memory.memories import MemoryFilter, Order, PromptFilter, Sort
from lamplighter.repository.search import analyses
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import changes
from lamplighter.repository.store.dialect import stamp

GONE = ChangeOrigin(cause="deleted", actor="operator")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SLOW = Candidate(
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    tier=1,
    session_id=None,
)


async def keep(db: Database, candidate: Candidate = SLOW, *, minutes: int = 0) -> Memory:
    async with writing(db):
        return await memories.insert(db, candidate, now=NOON + timedelta(minutes=minutes))


async def several(db: Database) -> list[Memory]:
    """Store memories that differ in every property of the lists."""
    rows: list[tuple[str | None, Category, str, float]] = [
        ("jellyfin", Category.TIMING, "Takes 60s to start", 0.7),
        ("jellyfin", Category.BEHAVIOR, "100 % CPU while scanning", 0.9),
        (None, Category.REMEDIATION, "DNS fails at times", 0.7),
        ("caddy", Category.DEPENDENCY, "Needs WireGuard_1", 0.7),
        ("caddy", Category.DECISION, "Chosen over nginx", 0.9),
        ("adguard", Category.TIMING, "Slow at night", 0.2),
    ]
    return [
        await keep(
            db,
            replace(SLOW, service=service, category=category, observation=text, confidence=sure),
            minutes=at % 3,
        )
        for at, (service, category, text, sure) in enumerate(rows)
    ]


async def listed(
    db: Database, wanted: MemoryFilter, sort: Sort | Order, *, limit: int
) -> list[list[int]]:
    """Return the ids of each page."""
    pages: list[list[int]] = []
    position: Any = None
    while True:
        page = await memories.page(db, wanted, sort=sort, limit=limit, position=position)
        pages.append([each.id for each in page.items])
        if page.position is None:
            return pages
        position = page.position


async def test_candidate_is_stored_with_all_its_fields(db: Database) -> None:
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)
    candidate = replace(
        SLOW,
        session_id=session.id,
        tier=2,
        category=Category.REMEDIATION,
        confidence=1.5,
        source=Source.CLIENT,
        source_ref="session 1",
        trust=Trust.TRUSTED,
        title="Slow",
        tags=("a", "ü"),
    )

    kept = await keep(db, candidate)

    assert kept == Memory(
        id=kept.id,
        category=Category.REMEDIATION,
        service="jellyfin",
        observation="Takes 60s to start",
        confidence=1.0,
        active=True,
        tier=2,
        session_id=session.id,
        created_at=NOON,
        updated_at=NOON,
        kind=MemoryKind.PROCEDURAL,
        trust=Trust.TRUSTED,
        title="Slow",
        tags=("a", "ü"),
        content_hash=content_hash("takes 60s to start"),
        source=Source.CLIENT,
        source_ref="session 1",
        distilled=False,
    )
    assert await memories.get(db, kept.id) == kept
    assert await memories.get(db, kept.id + 1) is None


async def test_candidate_below_the_limit_is_stored_inactive(db: Database) -> None:
    kept = await keep(db, replace(SLOW, confidence=0.29))

    assert (kept.active, kept.inactive_reason) == (False, InactiveReason.LOW)
    assert (await keep(db, replace(SLOW, confidence=0.3))).active


async def test_updated_memory_is_read_with_its_new_values(db: Database) -> None:
    kept = await keep(db)
    change = Edit(
        observation="Takes 90s",
        confidence=0.2,
        category=Category.BEHAVIOR,
        service="plex",
        pinned=True,
    )
    changed = apply_edit(kept, change, now=NOON + timedelta(hours=1))

    async with writing(db):
        await memories.update(db, changed, now=NOON)

    expected = replace(changed, content_hash=content_hash("Takes 90s"))
    assert await memories.get(db, kept.id) == expected


async def test_every_change_of_a_memory_is_recorded_in_the_feed_in_order(db: Database) -> None:
    kept = await keep(db)
    raised = replace(kept, confidence=0.8, version=2)
    async with writing(db):
        await memories.update(db, raised, now=NOON)

    assert await changes.list_after(db, 0) == [
        Change(1, "memory", kept.id, ChangeOp.CREATED, 1, serialize.memory(kept), NOON),
        Change(2, "memory", kept.id, ChangeOp.UPDATED, 2, serialize.memory(raised), NOON),
    ]


async def test_deleted_memory_is_blanked_in_the_feed_and_its_id_not_reused(db: Database) -> None:
    kept = await keep(db)
    other = await keep(db, replace(SLOW, observation="other"))

    async with writing(db):
        await trash.move(db, [kept.id], GONE, now=NOON, alone=True)

    assert await memories.get(db, kept.id) is None
    assert [(each.entity_id, each.op, each.row) for each in await changes.list_after(db, 0)] == [
        (kept.id, ChangeOp.CREATED, None),
        (other.id, ChangeOp.CREATED, serialize.memory(other)),
        (kept.id, ChangeOp.DELETED, None),
    ]
    assert (await keep(db)).id == other.id + 1


async def test_rolled_back_changes_are_not_recorded_in_the_feed(db: Database) -> None:
    async def fail() -> None:
        async with writing(db):
            await memories.insert(db, SLOW, now=NOON)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert (await changes.list_after(db, 0), await memories.count(db, MemoryFilter())) == ([], 0)


async def twins(db: Database, candidate: Candidate) -> list[Memory]:
    rows = await analyses.fetch_related(db, [], candidate, builtin_lexicon())
    return [memory for row in rows if (memory := row.memory()) is not None]


async def test_twins_match_service_category_and_text_active_or_inactive(db: Database) -> None:
    await keep(db, replace(SLOW, observation="other", confidence=0.9))
    active = await keep(db)
    twin = await keep(db, replace(SLOW, observation="TAKES  60s to start", confidence=0.1))
    await keep(db, replace(SLOW, observation="faded", confidence=0.1))
    await keep(db, replace(SLOW, category=Category.BEHAVIOR))
    await keep(db, replace(SLOW, service="plex"))
    general = await keep(db, replace(SLOW, service=None))

    assert await twins(db, SLOW) == [active, twin]
    assert await twins(db, replace(SLOW, service=None)) == [general]


async def test_service_name_returns_the_first_stored_spelling(db: Database) -> None:
    await keep(db, replace(SLOW, service="AdGuard-Home"))

    assert await memories.service_name(db, "adguard_home", ()) == "AdGuard-Home"
    assert await memories.service_name(db, "AdGuard-Home", ()) == "AdGuard-Home"
    assert await memories.service_name(db, "plex", ()) == "plex"


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.CONFIDENCE, [2, 5, 3, 1, 4, 6]),
        (Sort.UPDATED, [6, 3, 5, 2, 4, 1]),
        (Sort.CREATED, [6, 5, 4, 3, 2, 1]),
        (Sort.SERVICE, [6, 5, 4, 2, 1, 3]),
        (Sort.CATEGORY, [2, 5, 4, 3, 1, 6]),
        (Sort.STATE, [2, 5, 1, 3, 4, 6]),
        (Sort.SOURCE, [6, 5, 4, 3, 2, 1]),
        (Order(Sort.CONFIDENCE, backward=True), [6, 4, 1, 3, 5, 2]),
        (Order(Sort.UPDATED, backward=True), [1, 4, 2, 5, 3, 6]),
        (Order(Sort.CREATED, backward=True), [1, 2, 3, 4, 5, 6]),
        (Order(Sort.SOURCE, backward=True), [1, 2, 3, 4, 5, 6]),
        (Order(Sort.SERVICE, backward=True), [3, 2, 1, 5, 4, 6]),
        (Order(Sort.CATEGORY, backward=True), [1, 6, 3, 4, 5, 2]),
        (Order(Sort.STATE, backward=True), [6, 2, 5, 1, 3, 4]),
        (Order(Sort.CREATED, grouped=True), [6, 5, 4, 2, 1, 3]),
        (Order(Sort.UPDATED, backward=True, grouped=True), [6, 4, 5, 1, 2, 3]),
    ],
)
async def test_pages_in_every_order_list_each_memory_once(
    db: Database, sort: Sort | Order, order: list[int]
) -> None:
    await several(db)

    pages = {
        limit: await listed(db, MemoryFilter(), sort, limit=limit) for limit in (1, 2, 3, 5, 6, 7)
    }

    for limit, found in pages.items():
        assert found == [order[at : at + limit] for at in range(0, 6, limit)], limit


async def test_page_continues_after_its_position_despite_changes(db: Database) -> None:
    kept = await several(db)
    first = await memories.page(db, MemoryFilter(), sort=Sort.CONFIDENCE, limit=3)
    assert [each.id for each in first.items] == [2, 5, 3]

    async with writing(db):
        await trash.move(db, [kept[2].id], GONE, now=NOON, alone=True)
    await keep(db, replace(SLOW, confidence=1.0))

    second = await memories.page(
        db, MemoryFilter(), sort=Sort.CONFIDENCE, limit=3, position=first.position
    )
    assert ([each.id for each in second.items], second.position) == ([1, 4, 6], None)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (MemoryFilter(), [2, 5, 3, 1, 4, 6]),
        (MemoryFilter(service="jellyfin"), [2, 1]),
        (MemoryFilter(service="general"), [3]),
        (MemoryFilter(service="nowhere"), []),
        (MemoryFilter(category=Category.TIMING), [1, 6]),
        (MemoryFilter(kind=MemoryKind.PROCEDURAL), [3]),
        (MemoryFilter(active=True), [2, 5, 3, 1, 4]),
        (MemoryFilter(active=False), [6]),
        (MemoryFilter(q="%"), [2]),
        (MemoryFilter(q="_"), [4]),
        (MemoryFilter(q="TAKES"), [1]),
        (MemoryFilter(q="/"), []),
        (MemoryFilter(q=""), [2, 5, 3, 1, 4, 6]),
        (MemoryFilter(project="ops"), [2, 5, 3, 1, 4, 6]),
        (MemoryFilter(scope="global"), []),
        (MemoryFilter(service="caddy", category=Category.DEPENDENCY, q="wire", active=True), [4]),
    ],
)
async def test_memory_filter_selects_exactly_the_matching_memories(
    db: Database, wanted: MemoryFilter, ids: list[int]
) -> None:
    await several(db)

    assert await listed(db, wanted, Sort.CONFIDENCE, limit=50) == [ids]
    assert await memories.count(db, wanted) == len(ids)


async def test_facet_counts_ignore_their_own_filter(db: Database) -> None:
    await several(db)

    assert (await facets.facets(db, MemoryFilter(service="caddy"))).services == [
        ("adguard", 1),
        ("caddy", 2),
        ("jellyfin", 2),
        (None, 1),
    ]
    timing = MemoryFilter(service="caddy", category=Category.TIMING)
    assert (await facets.facets(db, timing)).categories == [
        ("decision", 1),
        ("dependency", 1),
    ]
    other = MemoryFilter(service="caddy", project="other")
    assert (await facets.facets(db, other)).projects == [("ops", 2)]


async def test_session_id_filter_selects_the_memories_of_a_session(db: Database) -> None:
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)
    await keep(db)
    mine = await keep(db, replace(SLOW, session_id=session.id))

    wanted = MemoryFilter(session_id=session.id)

    assert await listed(db, wanted, Sort.CONFIDENCE, limit=50) == [[mine.id]]
    assert await memories.count(db, wanted) == 1


async def test_text_filter_also_matches_the_title(db: Database) -> None:
    said = replace(SLOW, category=Category.DECISION, title="The pool of connections")
    memory = await keep(db, said)

    assert await listed(db, MemoryFilter(q="POOL of"), Sort.CONFIDENCE, limit=50) == [[memory.id]]


async def told(db: Database, services: list[str] | None, *, inside: bool = True) -> list[int]:
    found: list[int] = []
    position: Any = None
    while True:
        wanted = PromptFilter(services=services, inside=inside)
        page = await memories.list_eligible(db, wanted, limit=2, position=position)
        found += [each["id"] for each in page.items]
        if page.position is None:
            return found
        position = page.position


async def test_prompts_include_active_operational_memories_by_confidence(
    db: Database,
) -> None:
    await several(db)

    assert await told(db, None) == [2, 3, 1, 4]
    assert await told(db, ["caddy", "adguard"]) == [4]
    assert await told(db, ["caddy", "adguard"], inside=False) == [2, 3, 1]
    assert await told(db, []) == []
    assert await told(db, [], inside=False) == [2, 3, 1, 4]
    assert await memories.count_eligible(db, PromptFilter()) == 4


@pytest.mark.parametrize(
    ("confidence", "active", "is_told"),
    [(0.3, 1, True), (0.2, 1, False), (0.9, 0, False), (0.9, 2, False)],
)
async def test_prompt_includes_externally_written_rows_only_if_active_and_confident(
    db: Database, confidence: float, active: int, is_told: bool
) -> None:
    async with writing(db):
        await db.execute(
            "INSERT INTO memories (category, observation, confidence, active, created_at,"
            " updated_at) VALUES ('timing', 'x', :confidence, :active,"
            " '2026-01-01T12:00:00Z', '2026-01-01T12:00:00Z')",
            {"confidence": confidence, "active": active},
        )

    assert (await told(db, None) == [1]) is is_told
    assert await memories.count_eligible(db, PromptFilter()) == int(is_told)


async def test_short_memories_keep_their_order_whether_few_or_many(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for length in (3, 1, 2, 4):
        await keep(db, replace(SLOW, observation="x" * length, confidence=0.9 - length / 10))
    wanted = PromptFilter(longest=3)

    few = await memories.list_eligible(db, wanted, limit=9)
    monkeypatch.setattr(memories, "MAX_FEW", 0)
    many = await memories.list_eligible(db, wanted, limit=9)

    assert [row["id"] for row in few.items] == [2, 3, 1]
    assert many == few


async def test_memories_of_services_keep_their_order_whether_few_or_many(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await several(db)

    few = [await told(db, ["adguard"]), await told(db, ["caddy", "adguard"])]
    monkeypatch.setattr(memories, "MAX_FEW", 0)

    assert [await told(db, ["adguard"]), await told(db, ["caddy", "adguard"])] == few


async def test_history_stores_each_change_with_previous_values(db: Database) -> None:
    kept = await keep(db)
    raised = replace(kept, confidence=0.8, version=2)
    state = {
        "observation": "Takes 60s to start",
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
        "tags": [],
        "project": "ops",
        "scope": "project",
        "topic_key": None,
        "kind": "semantic",
        "distilled": True,
        "revision_count": 1,
        "metadata": {},
        "expires_at": None,
        "verified_at": None,
    }
    said_again = history.ChangeOrigin(
        cause=history.REINFORCED, actor="session 2", reason="said again", session_id=2
    )
    async with writing(db):
        learned = history.ChangeOrigin(cause="learned", actor="session 1")
        await history.append(db, None, kept, learned, now=NOON)
        await history.append(db, kept, raised, said_again, now=NOON)
        deleted = history.ChangeOrigin(cause="deleted", actor="operator", review_id=4)
        await history.append(db, raised, None, deleted, now=NOON)

    page = await history.of_memory(db, kept.id, limit=10)

    common = {"at": NOON, "session_id": None, "reason": "", "memory_id": kept.id}
    after = {**state, "confidence": 0.8}
    assert page.items == [
        history.HistoryRecord(
            id=3,
            version=3,
            actor="operator",
            cause="deleted",
            before=after,
            after=None,
            review_id=4,
            **common,
        ),
        history.HistoryRecord(
            id=2,
            memory_id=kept.id,
            version=2,
            at=NOON,
            actor="session 2",
            session_id=2,
            cause="reinforced",
            reason="said again",
            before=state,
            after=after,
        ),
        history.HistoryRecord(
            id=1,
            version=1,
            actor="session 1",
            cause="learned",
            before=None,
            after=state,
            **common,
        ),
    ]
    assert await history.changed_by_session(db, 2) == ({kept.id}, set())
    assert await history.changed_by_session(db, 1) == (set(), set())

    async with writing(db):
        await trash.move(db, [kept.id], GONE, now=NOON)
        await trash.purge(db, [kept.id], GONE, now=NOON)
    _, _, *forgotten = (await history.of_memory(db, kept.id, limit=10)).items
    assert forgotten == [replace(entry, before=None, after=None, reason="") for entry in page.items]


async def test_history_pages_list_the_newest_first(db: Database) -> None:
    kept = await keep(db)
    async with writing(db):
        for number in range(5):
            why = history.ChangeOrigin(cause=str(number), actor="x")
            await history.append(db, kept, kept, why, now=NOON)

    first = await history.of_memory(db, kept.id, limit=2)
    second = await history.of_memory(db, kept.id, limit=3, position=first.position)

    assert [[each.cause for each in page.items] for page in (first, second)] == [
        ["4", "3"],
        ["2", "1", "0"],
    ]
    assert second.position is None


async def test_links_are_listed_in_order_of_creation(db: Database) -> None:
    async with writing(db):
        for target, what in ((5, REVIVES), (3, "contradicts")):
            await links.insert(db, MemoryLink(MemoryId(9), MemoryId(target), what), now=NOON)

    assert await links.of_memory(db, MemoryId(9)) == [(5, "revives"), (3, "contradicts")]
    assert await links.of_memory(db, MemoryId(5)) == []
