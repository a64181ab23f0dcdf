"""An operator reverts one step of a memory's history."""

from dataclasses import replace
from datetime import timedelta

import pytest
from examples import LATER, NOON, SLOW_START, held, rows, said, session

from confidences import UP, after
from contexts import context
from lamplighter.domain.errors import Conflict, NotFound, Stale
from lamplighter.domain.memory.memory import Edit, Memory
from lamplighter.repository import Database
from lamplighter.repository.memory import history
from lamplighter.repository.memory.history import HistoryRecord
from lamplighter.usecases.memory import curate, undo
from lamplighter.usecases.memory.fade import fade
from lamplighter.usecases.memory.undo import undo_step

SPRING = NOON + timedelta(days=60)


async def past(db: Database, memory: Memory) -> list[HistoryRecord]:
    """Return the history of a memory, oldest entry first."""
    return (await history.of_memory(db, memory.id, limit=100)).items[::-1]


async def undone(db: Database, memory: Memory, number: int) -> Memory:
    step = (await past(db, memory))[number]
    return await undo_step(db, memory.id, step.id, version=None, now=SPRING)


async def lived(db: Database) -> Memory:
    """Let a memory be learned, reinforced, decayed and edited."""
    learned = (await said(db, await session(db))).memory
    await said(db, await session(db), now=LATER)
    await fade(db, now=SPRING)
    text = Edit(observation="Takes 90s", service="general")
    return await curate.edit(context(db, SPRING), learned.id, text, version=None)


async def test_undo_of_all_steps_restores_the_learned_memory(db: Database) -> None:
    memory = await lived(db)
    steps = await past(db, memory)
    assert [step.cause for step in steps] == ["learned", "reinforced", "faded", "edited"]
    words = {"service": "jellyfin", "observation": SLOW_START.observation}
    learned = {"confidence": 0.7, "updated_at": NOON, "decayed_weeks": 0, "version": 7, **words}

    for number in (3, 2, 1):
        await undone(db, memory, number)

    [after] = await held(db)
    assert {name: getattr(after, name) for name in learned} == learned
    await undone(db, memory, 0)
    [aside] = await held(db)
    assert (aside.active, aside.inactive_reason) == (False, "operator")
    assert [each["op"] for each in await rows(db, "changes")][-4:] == ["updated"] * 4


async def test_undo_is_a_step_that_can_be_undone(db: Database) -> None:
    memory = await lived(db)
    before = (await held(db))[0]

    await undone(db, memory, 1)
    back = (await past(db, memory))[-1]
    await undone(db, memory, -1)

    assert (back.cause, back.actor, back.reason) == (
        "undone",
        "operator",
        "undoes reinforced of version 2",
    )
    assert replace((await held(db))[0], version=0) == replace(before, version=0)
    steps = await undo.with_undo_state(db, memory.id, await past(db, memory))
    assert [able for _, able in steps] == [True, False, True, True, False, True]


async def test_undone_fade_states_that_it_will_repeat(db: Database) -> None:
    memory = (await said(db, await session(db))).memory
    await fade(db, now=SPRING)

    back = await undone(db, memory, 1)

    step = (await past(db, memory))[-1]
    assert (back.confidence, step.reason) == (
        0.7,
        "undoes faded of version 2; "
        "it will decay again at the next session unless you set its confidence",
    )
    shown = [able for _, able in await undo.with_undo_state(db, memory.id, await past(db, memory))]
    assert shown == [True, False, True]
    assert await fade(db, now=SPRING) == 1
    again = await undone(db, memory, -1)
    await curate.edit(context(db, SPRING), memory.id, Edit(confidence=0.7), version=None)
    assert await fade(db, now=SPRING) == 0
    assert (await held(db))[0].confidence == again.confidence == 0.7


async def test_undone_fade_before_an_edit_does_not_repeat(db: Database) -> None:
    memory = await lived(db)

    back = await undone(db, memory, 2)

    assert (await past(db, memory))[-1].reason == "undoes faded of version 3"
    assert await fade(db, now=SPRING) == 0
    assert back.confidence == after(UP)


async def test_concurrent_change_prevents_an_undo(db: Database) -> None:
    memory = await lived(db)
    step = (await past(db, memory))[-1]

    with pytest.raises(Stale) as stale:
        await undo_step(db, memory.id, step.id, version=1, now=SPRING)

    assert stale.value.current == (await held(db))[0]


async def test_unknown_steps_and_deleted_memories_cannot_be_undone(db: Database) -> None:
    memory = await lived(db)
    other = (await said(db, await session(db), observation="Never starts")).memory
    step = (await past(db, memory))[-1]

    for pair in ((memory.id, 999), (other.id, step.id), (999, step.id)):
        with pytest.raises(NotFound):
            await undo_step(db, *pair, version=None, now=SPRING)
    await curate.delete(db, memory.id, version=None, now=SPRING)
    with pytest.raises(Conflict, match="Restore it from the trash first"):
        await undo_step(db, memory.id, step.id, version=None, now=SPRING)
    steps = await undo.with_undo_state(db, memory.id, await past(db, memory))
    assert not any(able for _, able in steps)
