"""Revoke: all memories of an origin are reverted in one act, and one undo restores them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from examples import NOON, held, rows, said, session

import direct_writes
from contexts import OPEN, context, named
from lamplighter.domain.errors import Conflict, Invalid, NotFound
from lamplighter.domain.memory.memory import Candidate, Category, Edit, InactiveReason, Source
from lamplighter.domain.memory.review import Resolution, ReviewAnswer, ReviewState
from lamplighter.domain.revoke.origin import OriginKind, TeachingOrigin, choose_origin
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.memory.reviews import ReviewFilter
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.effect.prompts import PromptContext
from lamplighter.usecases.memory import curate, journal, knowledge
from lamplighter.usecases.memory.review import resolve
from lamplighter.usecases.revoke.revoke import Revocation, preview, revoke

KEPT = ("id", "observation", "confidence", "active", "updated_at", "session_id", "decayed_weeks")
TABLES = ("memories", "history", "acts", "trash", "changes")
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
END = NOON + 400 * DAY
CLAIMS = ("Takes 30s to start", "Takes 60s to start", "Takes 120s to start", "Depends on postgres")
SLOW, FAST = CLAIMS[1], CLAIMS[0]
STAMP = f"{NOON:%Y-%m-%dT%H:%M:%S.%fZ}"


async def ended(db: Database) -> Session:
    """Open a session and end it; its output is ingested later."""
    by = await session(db)
    async with writing(db):
        await sessions.end(db, by.id, status=Status.COMPLETED, now=NOON)
    return by


def here(db: Database, now: Any = END) -> PromptContext:
    return PromptContext(db=db, now=lambda: now, redact=OPEN, services=named(["jellyfin"]))


def of(by: Session) -> TeachingOrigin:
    return TeachingOrigin(OriginKind.SESSION, str(by.id))


async def taught(
    db: Database, reports: Sequence[tuple[int, str, int]], service: str, *, without: int = 0
) -> dict[int, Session]:
    by = {number: await ended(db) for number in sorted({each[0] for each in reports})}
    now = NOON
    for number, text, days in reports:
        now += days * DAY + MINUTE
        if number != without:
            await said(db, by[number], observation=text, service=service, now=now)
    return by


async def in_effect(db: Database, service: str, by: dict[int, Session]) -> list[Any]:
    numbers = {each.id: number for number, each in by.items()}
    return sorted(
        (each.observation, each.confidence, each.updated_at, numbers[each.session_id or 0])
        for each in await held(db)
        if each.active and each.service == service
    )


def random_reports(seed: int) -> list[tuple[int, str, int]]:
    random = Random(seed)
    pairs = [(number, text) for number in (1, 2, 3, 4) for text in CLAIMS]
    random.shuffle(pairs)
    return [(number, text, random.choice((0, 0, 0, 9))) for number, text in pairs[:10]]


@pytest.mark.parametrize("seed", range(8))
async def test_revocation_leaves_the_state_without_the_session(db: Database, seed: int) -> None:
    reports = random_reports(seed)
    by = await taught(db, reports, "jellyfin")
    others = await taught(db, reports, "alone", without=1)
    now = NOON + sum(each[2] for each in reports) * DAY + 20 * MINUTE

    await revoke(here(db, now), of(by[1]))

    assert await in_effect(db, "jellyfin", by) == await in_effect(db, "alone", others)


async def test_revocation_restores_memories_that_another_program_inserted(
    db: Database, url: str
) -> None:
    direct_writes.run(
        url,
        "INSERT INTO memories"
        " (service, category, observation, confidence, active, created_at, updated_at, tier)"
        f" VALUES ('a', 'timing', '{SLOW}', 0.7, 1, '{STAMP}', '{STAMP}', 1),"
        f" ('b', 'timing', '{SLOW}', 0.7, 1, '{STAMP}', '{STAMP}', 1)",
    )
    before = await rows(db, "memories")
    by = await ended(db)
    await said(db, by, observation=SLOW, service="a", now=NOON)
    await said(db, by, observation=FAST, service="b", now=NOON)

    done = await revoke(here(db, NOON), of(by))

    assert (len(done.plan.removed), len(done.plan.changed)) == (1, 2)
    assert _values(await rows(db, "memories")) == _values(before)


async def test_one_undo_restores_all_memories(db: Database) -> None:
    by = await taught(db, random_reports(3), "jellyfin")
    before = await rows(db, "memories")

    done = await revoke(here(db), of(by[1]))
    changed = await rows(db, "memories")
    assert done.act is not None
    await journal.undo(db, done.act, now=END)

    assert changed != before
    assert _values(await rows(db, "memories")) == _values(before)


def _values(found: Sequence[Any]) -> list[Any]:
    return sorted((tuple(each[name] for name in KEPT)) for each in map(dict, found))


async def test_revocation_after_an_undo_finds_the_same_memories(db: Database) -> None:
    by = await taught(db, random_reports(5), "jellyfin")
    first = await preview(here(db), of(by[1]))
    done = await revoke(here(db), of(by[1]))
    assert done.act is not None
    await journal.undo(db, done.act, now=END)

    again = await preview(here(db), of(by[1]))

    assert _summary(again) == _summary(first)


async def test_second_revocation_does_not_restore_the_first(db: Database) -> None:
    first, second, third = [await ended(db) for _ in range(3)]
    learned = (await said(db, third, observation=SLOW)).memory
    await said(db, first, observation=SLOW, now=NOON + MINUTE)
    await said(db, second, observation=SLOW, now=NOON + 2 * MINUTE)

    await revoke(here(db, NOON + DAY), of(first))
    await revoke(here(db, NOON + DAY), of(second))

    memory = await memories.get(db, learned.id)
    assert memory is not None
    assert (memory.confidence, memory.updated_at) == (learned.confidence, learned.updated_at)
    assert (await preview(here(db, NOON + DAY), of(first))).plan.empty


def _summary(found: Revocation) -> tuple[Any, ...]:
    plan = found.plan
    return (
        [each.id for each in plan.removed],
        [(after.id, after.confidence, after.active) for _, after in plan.changed],
        [(each.replaces, each.memory.observation) for each in plan.heirs],
        plan.counts,
    )


async def test_preview_changes_nothing_and_shows_prompt_differences(db: Database) -> None:
    by = await ended(db)
    memory = (await said(db, by, observation=SLOW)).memory
    before = [await rows(db, name) for name in TABLES]

    found = await preview(here(db, NOON + DAY), of(by))

    assert [each.id for each in found.plan.removed] == [memory.id]
    assert found.act is None
    assert [each.scope for each in found.effects] == ["all services", "service jellyfin"]
    assert found.effects[0].difference.removed == (f"- [timing] {SLOW} (confidence: 0.7)",)
    assert found.effects[0].difference.text.startswith("--- before\n+++ after\n")
    assert [await rows(db, name) for name in TABLES] == before


async def test_later_operator_edit_is_kept_and_reported(db: Database) -> None:
    by = await ended(db)
    memory = (await said(db, by, observation=SLOW)).memory
    text = "Takes 70s to start"
    await curate.edit(context(db, NOON + MINUTE), memory.id, Edit(observation=text), version=None)
    edited = await memories.get(db, memory.id)
    assert edited is not None

    done = await revoke(here(db, NOON + DAY), of(by))

    assert [(each.memory.id, each.cause, each.version) for each in done.plan.decisions] == [
        (memory.id, "edited", edited.version)
    ]
    assert done.plan.empty
    assert await memories.get(db, memory.id) == edited


async def test_confidence_set_by_an_operator_is_kept(db: Database) -> None:
    first, second = await ended(db), await ended(db)
    memory = (await said(db, first, observation=SLOW)).memory
    await said(db, second, observation=SLOW, now=NOON + MINUTE)
    await curate.edit(
        context(db, NOON + 2 * MINUTE), memory.id, Edit(confidence=0.95), version=None
    )

    done = await revoke(here(db, NOON + DAY), of(second))

    kept = await memories.get(db, memory.id)
    assert kept is not None
    assert kept.confidence == 0.95
    assert [each.cause for each in done.plan.decisions] == ["edited"]


async def test_memory_chosen_in_a_review_is_kept(db: Database) -> None:
    first, second = await ended(db), await ended(db)
    await said(db, first, observation=FAST)
    memory = (await said(db, second, observation=SLOW, now=NOON + MINUTE)).memory
    [review] = (await reviews.page(db, ReviewFilter(state=ReviewState.OPEN), limit=9)).items
    keep = ReviewAnswer(resolution=Resolution.KEEP_NEW)
    await resolve(context(db), review.id, keep, version=None)

    done = await revoke(here(db, NOON + DAY), of(second))

    kept = await memories.get(db, memory.id)
    assert kept is not None
    assert kept.active
    assert [(each.memory.id, each.cause) for each in done.plan.decisions] == [(memory.id, "review")]


async def test_removed_memory_passes_to_the_session_that_repeated_it(
    db: Database,
) -> None:
    first, second, third = [await ended(db) for _ in range(3)]
    old = (await said(db, first, observation=FAST)).memory
    await said(db, second, observation=SLOW, now=NOON + MINUTE)
    await said(db, third, observation=SLOW, now=NOON + 2 * MINUTE)

    await revoke(here(db, NOON + DAY), of(second))

    [heir] = [each for each in await held(db) if each.observation == SLOW]
    assert (heir.session_id, heir.confidence, heir.created_at) == (
        third.id,
        0.7,
        NOON + 2 * MINUTE,
    )
    opened = (await reviews.page(db, ReviewFilter(state=ReviewState.OPEN), limit=9)).items
    assert [(each.old_id, each.new_id) for each in opened] == [(old.id, heir.id)]


async def test_revoked_source_restores_memories_that_it_contradicted(db: Database) -> None:
    first, second = await ended(db), await ended(db)
    old = (await said(db, first, observation=FAST)).memory
    await said(db, second, observation=SLOW, now=NOON + MINUTE, source=Source.CAPTURED)

    await revoke(here(db, NOON + DAY), TeachingOrigin(OriginKind.SOURCE, "captured"))

    [left] = await held(db)
    assert (left.id, left.confidence) == (old.id, old.confidence)


async def test_agent_is_revoked_with_all_its_sessions(db: Database) -> None:
    other = (await said(db, await ended(db), observation=FAST)).memory
    for name in ("one", "two"):
        opening = NewSession(external_id=name, project="web", agent="coder")
        by, _ = await client_sessions.start(db, opening, now=NOON)
        saved = replace(_known(f"Keep {name} session"), session_id=by.id, topic_key=None)
        await knowledge.save(context(db), saved, window=timedelta(0))

    found = await preview(here(db), TeachingOrigin(OriginKind.AGENT, "coder"))
    await revoke(here(db), TeachingOrigin(OriginKind.AGENT, "coder"))

    assert [each.scope for each in found.effects] == ["project web"]
    assert [each.id for each in await held(db)] == [other.id]


async def test_running_session_cannot_be_revoked(db: Database) -> None:
    by = await session(db)
    await said(db, by, observation=SLOW)

    with pytest.raises(Conflict, match="still running"):
        await revoke(here(db), of(by))
    with pytest.raises(NotFound):
        await preview(here(db), TeachingOrigin(OriginKind.SESSION, "99"))


@pytest.mark.parametrize(
    ("session_id", "agent", "source"),
    [(None, None, None), (1, "x", None), (None, None, "hearsay"), (0, None, None)],
)
def test_exactly_one_origin_is_required(
    session_id: int | None, agent: str | None, source: str | None
) -> None:
    with pytest.raises(Invalid):
        choose_origin(session_id, agent, source)


async def test_knowledge_that_a_session_revised_is_restored(db: Database) -> None:
    by = await ended(db)
    kept = await curate.create(context(db), _known("Use Redis for sessions"))
    changed = replace(_known("Use Valkey for sessions"), session_id=by.id, source=Source.CLIENT)
    await knowledge.save(context(db, NOON + MINUTE), changed, window=timedelta(0))

    await revoke(here(db, NOON + DAY), of(by))

    [memory] = await held(db)
    assert (memory.id, memory.observation) == (kept.id, "Use Redis for sessions")
    assert memory.inactive_reason is not InactiveReason.OPERATOR


def _known(text: str) -> Any:
    return Candidate(
        category=Category.DECISION,
        service=None,
        observation=text,
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        project="web",
        topic_key="store/sessions",
    )
