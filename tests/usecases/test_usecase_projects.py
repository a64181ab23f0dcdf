"""A project that gets another name takes along all that is known of it."""

from dataclasses import replace

import pytest
from examples import LATER, NOON, OPEN, SLOW_START, held

from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory import Candidate, Category, Source
from lamplighter.repository import Database, client_prompts, history
from lamplighter.usecases import clients, curate, knowledge, projects
from lamplighter.usecases.clients import Opening
from lamplighter.usecases.projects import Moved

SAID = Candidate(
    category=Category.DECISION,
    service=None,
    observation="We deploy on Fridays",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    project="shop",
)


async def test_knowledge_sessions_and_prompts_move_and_nothing_else(db: Database) -> None:
    mine = (await knowledge.keep(db, SAID, now=NOON, redact=OPEN)).memory
    gone = await knowledge.keep(db, replace(SAID, observation="Gone"), now=NOON, redact=OPEN)
    await knowledge.forget(db, gone.memory.id, now=NOON)
    other = await knowledge.keep(db, replace(SAID, project="bar"), now=NOON, redact=OPEN)
    session, _ = await clients.start(db, Opening(external_id="s", project="shop"), now=NOON)
    await clients.ask(db, session, "Why?", redact=OPEN, now=NOON)

    moved = await projects.move(db, " Shop ", "Store", now=LATER)

    assert moved == Moved(memories=2, sessions=1, prompts=1)
    known = {each.id: each.project for each in await held(db)}
    assert known == {mine.id: "store", gone.memory.id: "store", other.memory.id: "bar"}
    assert (await clients.found(db, "s")).project == "store"
    assert await client_prompts.count(db, "store") == 1
    entry = (await history.of(db, mine.id, limit=1)).items[0]
    assert (entry.cause, entry.reason) == ("moved", "shop is now store")
    again = await projects.move(db, "shop", "store", now=LATER)
    assert again == Moved()
    assert not again.any


async def test_there_is_nothing_to_move_to_the_same_name(db: Database) -> None:
    assert await projects.move(db, "shop", "SHOP", now=LATER) is None
    with pytest.raises(Invalid):
        await projects.move(db, "shop", " \n", now=LATER)


async def test_what_sessions_observe_stays_where_it_is(db: Database) -> None:
    memory = await curate.create(db, SLOW_START, now=NOON, redact=OPEN)

    assert await projects.move(db, "ops", "elsewhere", now=LATER) == Moved()
    assert await held(db) == [memory]
