"""Duplicates of knowledge: their scope and key, and what an undo restores."""

from dataclasses import replace
from typing import Any

import pytest
from examples import LATER, NOON, held
from test_usecase_save_knowledge import KEYED, keep, steps

import direct_writes
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.knowledge import SavedKnowledge, SaveOutcome
from lamplighter.domain.memory.memory import MemoryKind, Source
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.search import index
from lamplighter.usecases.memory import undo


async def test_undo_of_a_revision_restores_kind_and_distillation(
    db: Database,
) -> None:
    raw = (await keep(db, KEYED, source=Source.CAPTURED)).memory
    assert (raw.kind, raw.distilled) == (MemoryKind.EPISODIC, False)
    said = (await keep(db, KEYED, observation="It holds 40", now=LATER)).memory
    assert (said.kind, said.distilled, said.revision_count) == (MemoryKind.PROJECT, True, 2)
    last = (await keep(db, KEYED, observation="It holds 60", title="T", now=LATER)).memory
    newest, first, _ = await steps(db, raw)

    assert await memories.get(db, raw.id, at=NOON) == replace(raw, last_seen_at=LATER)
    with pytest.raises(Conflict):  # the text was changed again
        await undo.undo_step(db, raw.id, first.id, version=None, now=LATER)
    await undo.undo_step(db, raw.id, newest.id, version=None, now=LATER)
    back = await undo.undo_step(db, raw.id, first.id, version=None, now=LATER)

    assert last.revision_count == 3
    assert back == replace(raw, version=5, last_seen_at=LATER)
    assert await held(db) == [back]


@pytest.mark.parametrize("more", [{"scope": "global"}, {"topic_key": "config/db/pool"}], ids=str)
async def test_duplicate_with_global_scope_or_topic_key_updates_the_memory(
    db: Database, more: dict[str, Any]
) -> None:
    first = (await keep(db)).memory

    again = await keep(db, **more, title="Not this one")
    twice = await keep(db)

    distilled = "topic_key" in more
    wanted = replace(first, **more, duplicate_count=2, version=2, last_seen_at=NOON)
    assert again == SavedKnowledge(SaveOutcome.DEDUPLICATED, replace(wanted, distilled=distilled))
    assert twice.memory == replace(again.memory, duplicate_count=3)
    assert await held(db) == [twice.memory]
    newest, _ = await steps(db, first)
    assert (newest.cause, newest.actor) == ("placed", "client")
    back = await undo.undo_step(db, first.id, newest.id, version=None, now=LATER)
    assert (back.scope, back.topic_key, back.distilled) == ("project", None, False)


async def test_duplicate_does_not_take_a_topic_key_of_another_memory(db: Database) -> None:
    wide = (await keep(db, scope="global")).memory
    other = (await keep(db, KEYED, scope="global", observation="It holds 40")).memory

    again = await keep(db, KEYED)  # in the project nothing has the key

    assert again.memory == replace(wide, duplicate_count=2, last_seen_at=NOON)
    assert await held(db) == [again.memory, other]


async def test_global_duplicate_of_a_conflicting_key_is_created_separately(db: Database) -> None:
    narrow = (await keep(db, KEYED)).memory
    other = (await keep(db, KEYED, scope="global", observation="It holds 40")).memory

    again = await keep(db, scope="global")

    assert again.outcome is SaveOutcome.CREATED
    assert await held(db) == [narrow, other, again.memory]


async def test_duplicate_with_another_topic_key_keeps_the_first_key(db: Database) -> None:
    first = (await keep(db, KEYED)).memory

    again = await keep(db, topic_key="another/key")

    assert again == SavedKnowledge(
        SaveOutcome.DEDUPLICATED, replace(first, duplicate_count=2, last_seen_at=NOON)
    )


async def test_text_edited_outside_the_app_counts_as_duplicate_once_indexed(
    db: Database, url: str
) -> None:
    first = (await keep(db)).memory
    direct_writes.run(url, f"UPDATE memories SET observation = 'It holds 40' WHERE id = {first.id}")

    old = await keep(db)
    assert old.outcome is SaveOutcome.CREATED
    await index.catch_up(db, seconds=5)
    new = await keep(db, observation="it holds  40")

    assert (new.outcome, new.memory.id) == (SaveOutcome.DEDUPLICATED, first.id)
