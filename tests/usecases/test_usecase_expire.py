"""Expiry: episodes after a lifetime, other knowledge at a moment of its own, nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest
from examples import NOON

from contexts import context
from lamplighter.domain.memory.decay import LIFETIMES
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, MemoryKind, Source
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import history, memories
from lamplighter.usecases.memory import bulk, curate, undo
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.memory.fade import expire

DAY = timedelta(days=1)
EPISODE = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="The build failed on Monday",
    tier=0,
    session_id=None,
    source=Source.CAPTURED,
)
DECISION = replace(EPISODE, category=Category.DECISION, source=Source.OPERATOR)
TIMING = replace(EPISODE, category=Category.TIMING, source=Source.MARKER, service="web")


async def keep(db: Database, candidate: Candidate) -> Memory:
    async with writing(db):
        return await memories.insert(db, candidate, now=NOON)


@pytest.mark.parametrize(
    ("candidate", "days", "expired"),
    [
        (EPISODE, 29, False),
        (EPISODE, 30, True),
        (replace(EPISODE, expires_at=NOON + DAY), 1, True),
        (replace(EPISODE, expires_at=NOON + 90 * DAY), 89, False),
        (DECISION, 9_999, False),
        (replace(DECISION, expires_at=NOON + DAY), 1, True),
        (TIMING, 9_999, False),
        (replace(TIMING, source=Source.IMPORTED), 9_999, False),
    ],
)
async def test_episodes_and_dated_memories_expire_at_their_time(
    db: Database, candidate: Candidate, days: int, expired: bool
) -> None:
    memory = await keep(db, candidate)
    now = NOON + days * DAY

    assert await expire(db, LIFETIMES, now=now) == int(expired)
    assert await expire(db, LIFETIMES, now=now) == 0
    held = await memories.get(db, memory.id)
    assert held is not None
    assert (held.active, held.inactive_reason) == (not expired, "expired" if expired else None)
    causes = [each.cause for each in (await history.of_memory(db, memory.id, limit=9)).items]
    assert causes == ["expired"] * expired


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        (Category.DECISION, MemoryKind.SEMANTIC),
        (Category.CONFIG, MemoryKind.PROJECT),
        (Category.PREFERENCE, MemoryKind.PROCEDURAL),
    ],
)
async def test_each_kind_has_its_own_lifetime(
    db: Database, category: Category, kind: MemoryKind
) -> None:
    memory = await keep(db, replace(DECISION, category=category))
    others = {each: DAY for each in MemoryKind if each is not kind}

    assert memory.kind is kind
    assert await expire(db, {**others, kind: 9 * DAY}, now=NOON + 8 * DAY) == 0
    assert await expire(db, others, now=NOON + 99 * DAY) == 0
    assert await expire(db, {kind: 9 * DAY}, now=NOON + 9 * DAY) == 1
    assert await expire(db, {kind: timedelta.max}, now=NOON) == 0


async def test_pinned_memories_never_expire_and_no_lifetime_keeps_episodes(db: Database) -> None:
    pinned = await keep(db, EPISODE)
    await curate.edit(context(db), pinned.id, Edit(pinned=True), version=None)
    await keep(db, EPISODE)

    assert await expire(db, {}, now=NOON + 9_999 * DAY) == 0
    assert await expire(db, LIFETIMES, now=NOON + 31 * DAY) == 1


async def test_clock_behind_the_newest_stored_time_expires_nothing(db: Database) -> None:
    await keep(db, replace(DECISION, expires_at=NOON + DAY))
    await curate.create(context(db, NOON + 400 * DAY), DECISION)

    assert await expire(db, LIFETIMES, now=NOON + 100 * DAY) == 0


@pytest.mark.parametrize("many", [False, True])
async def test_activating_an_expired_memory_restarts_its_lifetime(db: Database, many: bool) -> None:
    memory = await keep(db, replace(EPISODE, expires_at=NOON + DAY))
    await expire(db, LIFETIMES, now=NOON + 31 * DAY)

    then = NOON + 40 * DAY
    if many:
        await bulk.apply_action(db, [memory.id], BulkAction(action="activate"), now=then)
    else:
        await curate.edit(context(db, then), memory.id, Edit(active=True), version=None)

    held = await memories.get(db, memory.id)
    assert held is not None
    assert (held.active, held.expires_at, held.updated_at) == (True, None, then)
    assert await expire(db, LIFETIMES, now=NOON + 69 * DAY) == 0
    assert await expire(db, LIFETIMES, now=NOON + 70 * DAY) == 1


async def test_edit_of_metadata_and_expiry_can_be_undone(db: Database) -> None:
    memory = await curate.create(context(db), replace(DECISION, metadata={"a": [1]}))
    change = Edit(expires_at=NOON + DAY, metadata={"b": {"c": 2}})
    await curate.edit(context(db), memory.id, change, version=None)

    at = (await history.of_memory(db, memory.id, limit=1)).items[0]
    assert (at.before or {})["metadata"] == {"a": [1]}
    await undo.undo_step(db, memory.id, at.id, version=None, now=NOON)

    held = await memories.get(db, memory.id)
    assert held is not None
    assert (held.expires_at, held.metadata) == (None, {"a": [1]})
