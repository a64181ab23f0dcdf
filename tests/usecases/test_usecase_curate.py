"""An operator writes, corrects and deletes memories."""

from dataclasses import replace
from typing import Any

import pytest
from examples import LATER, NOON, SLOW_START, held, rows, said, session

from contexts import WINDOW, context
from lamplighter.domain.errors import Conflict, Invalid, NotFound, Stale
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Edit,
    InactiveReason,
    Memory,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.services.event import Level
from lamplighter.repository import Database
from lamplighter.repository.memory import history
from lamplighter.usecases.memory import curate, lookup, undo
from lamplighter.usecases.memory.knowledge import save
from lamplighter.usecases.services import events

BY_HAND = replace(SLOW_START, tier=0, source=Source.OPERATOR, trust=Trust.TRUSTED)


async def made(db: Database, **more: Any) -> Memory:
    return await curate.create(context(db), replace(BY_HAND, **more))


async def edited(
    db: Database, memory: Memory, *, version: int | None = None, **more: Any
) -> Memory:
    return await curate.edit(context(db, LATER), memory.id, Edit(**more), version=version)


async def test_operator_memory_is_stored_beside_an_identical_one(db: Database) -> None:
    learned = (await said(db, await session(db))).memory

    typed = await made(db)

    assert await held(db) == [learned, typed]
    assert (typed.session_id, typed.tier, typed.trust) == (None, 0, Trust.TRUSTED)


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"observation": "Takes 90s"}, {"observation": "Takes 90s", "updated_at": LATER}),
        ({"confidence": 1.5}, {"confidence": 1.0, "updated_at": LATER}),
        ({"confidence": 0.7}, {"updated_at": LATER}),
        (
            {"confidence": -1.0},
            {
                "confidence": 0.0,
                "active": False,
                "inactive_reason": InactiveReason.LOW,
                "updated_at": LATER,
            },
        ),
        (
            {"category": Category.REMEDIATION},
            {"category": Category.REMEDIATION, "kind": MemoryKind.PROCEDURAL, "updated_at": LATER},
        ),
        ({"service": "general"}, {"service": None, "updated_at": LATER}),
        ({"service": "caddy"}, {"service": "caddy", "updated_at": LATER}),
        ({"pinned": True}, {"pinned": True}),
        ({"active": False}, {"active": False, "inactive_reason": InactiveReason.OPERATOR}),
    ],
    ids=str,
)
async def test_edit_changes_only_its_fields(
    db: Database, change: dict[str, Any], kept: dict[str, Any]
) -> None:
    memory = await made(db)

    after = await edited(db, memory, **change)

    wanted = replace(memory, **kept, version=2)
    assert after == replace(wanted, content_hash=after.content_hash)
    (stored,) = await held(db)
    assert replace(stored, content_hash="") == replace(after, content_hash="")


async def test_session_reinforces_the_edited_text(db: Database) -> None:
    memory = await edited(db, await made(db), observation="Takes 90s")

    again = await said(db, await session(db), observation="takes 90s.")

    assert again.memory.id == memory.id


@pytest.mark.parametrize("change", [{}, {"pinned": False}, {"active": True}], ids=str)
async def test_edit_without_changes_is_not_recorded(db: Database, change: dict[str, Any]) -> None:
    memory = await made(db)

    assert await edited(db, memory, **change) == memory
    assert len(await rows(db, "history")) == 1
    assert len(await rows(db, "changes")) == 1


async def test_stale_edit_is_rejected_with_the_current_memory(db: Database) -> None:
    memory = await made(db)
    current = await edited(db, memory, version=1, confidence=0.9)

    for act in (
        edited(db, memory, version=1, confidence=0.1),
        curate.delete(db, memory.id, version=1, now=LATER),
    ):
        with pytest.raises(Stale) as refused:
            await act
        assert refused.value.current == current
    assert await held(db) == [current]


async def test_unknown_memory_cannot_be_read_edited_or_deleted(db: Database) -> None:
    for act in (
        lookup.get(db, 7),
        curate.edit(context(db), 7, Edit(pinned=True), version=None),
        curate.delete(db, 7, version=None, now=NOON),
    ):
        with pytest.raises(NotFound):
            await act


async def test_invalid_edit_changes_nothing(db: Database) -> None:
    memory = await made(db)

    with pytest.raises(Invalid) as refused:
        await edited(db, memory, observation=" ", service="my.svc", confidence=0.1)

    assert [each.field for each in refused.value.wrong] == ["observation", "service"]
    assert await held(db) == [memory]


async def test_report_stores_an_event(db: Database) -> None:
    event = await events.report(
        context(db), Level.WARNING, "Disk\nfull", service="CADDY", services=("caddy",)
    )

    assert (event.text, event.service, event.source, event.tier) == (
        "Disk full",
        "caddy",
        "operator",
        0,
    )
    with pytest.raises(Invalid) as refused:
        await events.report(context(db), Level.INFO, " ", service="my.svc")
    assert [each.field for each in refused.value.wrong] == ["service", "text"]


TYPED = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="Use pnpm for the web app.",
    tier=0,
    session_id=None,
    source=Source.OWNER,
    project="lantern",
)


async def saved(db: Database, **more: Any) -> Memory:
    return (await save(context(db), replace(TYPED, **more), window=WINDOW)).memory


async def test_confirmed_memory_equals_one_written_by_a_person(db: Database) -> None:
    memory = await saved(db)
    assert (memory.trust, memory.distilled, memory.confidence) == (Trust.UNVERIFIED, False, 0.6)

    confirmed = await curate.confirm(db, memory.id, now=LATER, by="token 7 (laptop)")

    assert confirmed == replace(
        memory,
        trust=Trust.TRUSTED,
        kind=MemoryKind.PROCEDURAL,
        distilled=True,
        confidence=0.7,
        updated_at=LATER,
        version=memory.version + 1,
    )
    assert await lookup.get(db, memory.id) == confirmed
    [step, _] = (await history.of_memory(db, memory.id, limit=9)).items
    assert (step.cause, step.actor, step.reason) == ("confirmed", "operator", "token 7 (laptop)")


async def test_confirmation_can_be_undone(db: Database) -> None:
    memory = await saved(db)
    await curate.confirm(db, memory.id, now=LATER)
    [step, _] = (await history.of_memory(db, memory.id, limit=9)).items

    back = await undo.undo_step(db, memory.id, step.id, version=None, now=LATER)

    assert back == replace(memory, version=memory.version + 2)


async def test_confirming_again_changes_nothing(db: Database) -> None:
    memory = await saved(db)
    first = await curate.confirm(db, memory.id, now=NOON)
    acts = await rows(db, "acts")

    assert await curate.confirm(db, memory.id, now=LATER) == first
    assert await rows(db, "acts") == acts


async def test_confirmed_operational_memory_keeps_its_confidence(
    db: Database,
) -> None:
    learned = (await said(db, await session(db))).memory

    confirmed = await curate.confirm(db, learned.id, now=LATER)

    assert (confirmed.trust, confirmed.confidence) == (Trust.TRUSTED, learned.confidence)
    assert (confirmed.kind, confirmed.updated_at) == (learned.kind, LATER)


async def test_confirm_rejects_stale_unknown_and_inactive_memories(db: Database) -> None:
    memory = await saved(db)

    with pytest.raises(Stale):
        await curate.confirm(db, memory.id, version=memory.version + 1, now=LATER)
    with pytest.raises(NotFound):
        await curate.confirm(db, memory.id + 1, now=LATER)
    await curate.soft_delete(db, memory.id, now=LATER)
    with pytest.raises(Conflict, match="inactive"):
        await curate.confirm(db, memory.id, now=LATER)
