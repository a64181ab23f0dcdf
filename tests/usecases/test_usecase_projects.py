"""A renamed project keeps all of its knowledge."""

from dataclasses import replace

import pytest
from examples import LATER, NOON, SLOW_START, held

from contexts import WINDOW, context
from lamplighter.domain.errors import Conflict, Invalid
from lamplighter.domain.memory.knowledge import SaveOutcome
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Source
from lamplighter.repository import Database
from lamplighter.repository.clients import client_prompts
from lamplighter.repository.memory import history, links
from lamplighter.usecases.clients import client_sessions, projects
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.projects import MoveResult
from lamplighter.usecases.memory import curate, knowledge, undo

SAID = Candidate(
    category=Category.DECISION,
    service=None,
    observation="We deploy on Fridays",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    project="shop",
)


async def test_move_renames_the_project_of_knowledge_sessions_and_prompts_only(
    db: Database,
) -> None:
    mine = (await knowledge.save(context(db), SAID, window=WINDOW)).memory
    gone = await knowledge.save(context(db), replace(SAID, observation="Gone"), window=WINDOW)
    await knowledge.withdraw_memory(db, gone.memory.id, now=NOON)
    other = await knowledge.save(context(db), replace(SAID, project="bar"), window=WINDOW)
    session, _ = await client_sessions.start(
        db, NewSession(external_id="s", project="shop"), now=NOON
    )
    await client_sessions.save_prompt(context(db), session, "Why?")

    moved = await projects.move(db, " Shop ", "Store", now=LATER)

    assert moved == MoveResult(memories=2, sessions=1, prompts=1)
    known = {each.id: each.project for each in await held(db)}
    assert known == {mine.id: "store", gone.memory.id: "store", other.memory.id: "bar"}
    assert (await client_sessions.get(db, "s")).project == "store"
    assert await client_prompts.count(db, "store") == 1
    entry = (await history.of_memory(db, mine.id, limit=1)).items[0]
    assert (entry.cause, entry.reason) == ("moved", "shop is now store")
    again = await projects.move(db, "shop", "store", now=LATER)
    assert again == MoveResult()
    assert not again.any


async def test_move_to_the_same_or_an_empty_name_is_rejected(db: Database) -> None:
    assert await projects.move(db, "shop", "SHOP", now=LATER) is None
    with pytest.raises(Invalid):
        await projects.move(db, "shop", " \n", now=LATER)


async def test_move_does_not_change_operational_memories(db: Database) -> None:
    memory = await curate.create(context(db), SLOW_START)

    assert await projects.move(db, "ops", "elsewhere", now=LATER) == MoveResult()
    assert await held(db) == [memory]


@pytest.mark.parametrize("newer", ["there", "moved"])
async def test_move_keeps_the_newer_of_two_memories_with_one_topic_key(
    db: Database, newer: str
) -> None:
    keyed = replace(SAID, topic_key="deploy/day")
    first, last = (NOON, LATER) if newer == "moved" else (LATER, NOON)
    stored = replace(keyed, project="store")
    there = (await knowledge.save(context(db, first), stored, window=WINDOW)).memory
    mine = (
        await knowledge.save(
            context(db, last), replace(keyed, observation="On Mondays"), window=WINDOW
        )
    ).memory

    moved = await projects.move(db, "shop", "store", now=LATER)

    current, aside = (there, mine) if newer == "there" else (mine, there)
    assert moved == MoveResult(memories=1, superseded=1)
    known = {each.id: each for each in await held(db)}
    assert {each.project for each in known.values()} == {"store"}
    assert known[current.id].active
    assert (known[aside.id].active, known[aside.id].inactive_reason) == (False, "superseded")
    assert known[aside.id].observation == aside.observation
    assert await links.of_memory(db, current.id) == [(aside.id, "supersedes")]
    [step, *_] = (await history.of_memory(db, aside.id, limit=9)).items
    assert f"memory {current.id}" in step.reason
    again = await knowledge.save(
        context(db, LATER), replace(keyed, project="store", observation="Daily"), window=WINDOW
    )
    assert (again.outcome, again.memory.id) == (SaveOutcome.UPDATED, current.id)
    if newer == "moved":  # its own key would be held twice
        with pytest.raises(Conflict, match=f"topic key now belongs to memory {current.id}"):
            await undo.undo_step(db, aside.id, step.id, version=None, now=LATER)
    else:
        back = await undo.undo_step(db, aside.id, step.id, version=None, now=LATER)
        assert back == replace(mine, version=3)


async def test_edit_and_undo_do_not_duplicate_a_topic_key(db: Database) -> None:
    keyed = replace(SAID, topic_key="deploy/day")
    stored = replace(keyed, project="store")
    there = (await knowledge.save(context(db), stored, window=WINDOW)).memory
    mine = (await knowledge.save(context(db), keyed, window=WINDOW)).memory

    with pytest.raises(Invalid, match=f"belongs to memory {there.id}"):
        await curate.edit(context(db, LATER), mine.id, Edit(project="store"), version=None)
    await knowledge.withdraw_memory(db, mine.id, now=NOON)
    newer = (await knowledge.save(context(db, LATER), keyed, window=WINDOW)).memory
    [step, _] = (await history.of_memory(db, mine.id, limit=9)).items
    with pytest.raises(Conflict, match=f"belongs to memory {newer.id}"):
        await undo.undo_step(db, mine.id, step.id, version=None, now=LATER)
