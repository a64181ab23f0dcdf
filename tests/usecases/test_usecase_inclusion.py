"""Why the next prompt includes a memory or not; each suggested change does include it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from examples import NOON, SLOW_START

from contexts import context
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import OPERATIONAL, Category, Edit, Memory, Trust
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.context import render_bullet
from lamplighter.domain.sessions.inclusion import Inclusion, InclusionOption, InclusionReason
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.usecases.memory import curate, lookup
from lamplighter.usecases.sessions.inclusion import InclusionRequest, explain
from lamplighter.usecases.sessions.preview import PreviewRequest, PromptPreview, preview_prompt
from lamplighter.usecases.sessions.prompts import Hypothesis
from thorough import examples

NAMES = ("jellyfin", "nas", "caddy", "Web")
SERVICES = Services(
    (
        Service(name="jellyfin", depends_on=("nas",)),
        Service(name="nas"),
        Service(name="caddy"),
        Service(name="Web"),
    )
)
LATER = NOON + timedelta(hours=5)
ALL = InclusionRequest(budget=2_000)
WORDS = ("takes", "60s", "to", "start", "[EVENT:info]", "[MEMORY:timing:x] no", "  ", "[::1]", "…")


class Undo(Exception):
    pass


@asynccontextmanager
async def tried(db: Database) -> AsyncIterator[None]:
    """Change the database through the product, and roll the transaction back at the end."""
    try:
        async with writing(db):
            yield
            raise Undo
    except Undo:
        pass


async def kept(db: Database, observation: str, **more: Any) -> Memory:
    candidate = replace(SLOW_START, **({"observation": observation, "tier": 0} | more))
    return await curate.create(context(db), candidate)


async def edit(db: Database, memory: Memory, **more: Any) -> Memory:
    return await curate.edit(context(db, LATER), memory.id, Edit(**more), version=None)


async def why(db: Database, memory: Memory, asked: InclusionRequest = ALL) -> Inclusion:
    return await explain(db, memory.id, asked, lambda: SERVICES, now=LATER)


async def shown(db: Database, asked: InclusionRequest) -> PromptPreview:
    question = PreviewRequest(
        plan=SessionPlan(services=asked.services), budget=asked.budget, what_if=asked.what_if
    )
    return await preview_prompt(db, question, SERVICES, usual_budget=2_000, now=LATER)


async def done(
    db: Database, memory: Memory, way: InclusionOption, asked: InclusionRequest
) -> InclusionRequest:
    """Apply a suggested change, like a person."""
    change = way.edit
    if change.category is not None:
        change = replace(change, category=Category.TIMING)
    if change != Edit():
        await curate.edit(context(db, LATER), memory.id, change, version=None)
    if way.budget is not None:
        asked = replace(asked, budget=way.budget)
    return asked if way.service is None else replace(asked, services=(way.service,))


async def world(db: Database, random: Random) -> list[Memory]:
    found = []
    for number in range(random.randint(5, 40)):
        words = " ".join(random.choices(WORDS, k=random.choice((1, 4, 9, 60))))
        fact = {"category": Category.DECISION, "project": "shop", "topic_key": f"key-{number}"}
        memory = await kept(
            db,
            f"{number} {words}",
            service=random.choice((*NAMES, "gone", None)),
            **random.choice((*({"category": each} for each in OPERATIONAL), fact)),
            confidence=random.choice((0.2, 0.3, 0.55, 0.7, 0.7, 0.71, 0.9, 1.0)),
            trust=random.choice((Trust.TRUSTED, Trust.UNVERIFIED)),
        )
        if random.random() < 0.1:
            memory = await edit(db, memory, active=False)
        elif random.random() < 0.1:
            await curate.soft_delete(db, memory.id, now=LATER)
            memory = await lookup.get(db, memory.id)
        elif random.random() < 0.2:
            memory = await edit(db, memory, service=random.choice(NAMES))
        found.append(memory)
    return found


@pytest.mark.parametrize("seed", range(examples(12)))
async def test_suggested_changes_include_the_memory(db: Database, seed: int) -> None:
    random = Random(seed)
    ways = 0
    for memory in random.sample(held := await world(db, random), k=min(12, len(held))):
        asked = InclusionRequest(
            budget=random.choice((0, 20, 60, 120, 400, 4_000)),
            services=random.choice((None, None, ("jellyfin",), ("caddy", "nas"))),
        )

        found = await why(db, memory, asked)

        placed = {each.memory.id: each for each in (await shown(db, asked)).block.placements}
        there = placed[memory.id].position if memory.id in placed else None
        assert (found.reason is InclusionReason.INCLUDED) is (there is not None)
        assert found.position == there
        for way in found.ways:
            ways += 1
            async with tried(db):
                then = await done(db, memory, way, asked)
                now = await why(db, memory, then)
                lines = (await shown(db, then)).block.text.splitlines()
                assert now.reason is InclusionReason.INCLUDED, (way, found, now)
                assert render_bullet(await lookup.get(db, memory.id)) in lines
    assert ways


async def test_suggested_confidence_is_the_least_that_includes_the_memory(db: Database) -> None:
    for number in range(20):
        await kept(db, f"Slow start number {number:02}", confidence=round(0.95 - number / 50, 2))
    last = await kept(db, "The last of all of them", confidence=0.4)
    asked = InclusionRequest(budget=120)

    found = await why(db, last, asked)

    [least] = [way.edit.confidence for way in found.ways if way.edit.confidence]
    for confidence, reason in (
        (least, InclusionReason.INCLUDED),
        (1.0, InclusionReason.INCLUDED),
        (round(least - 0.02, 2), InclusionReason.BUDGET),
    ):
        async with tried(db):
            await edit(db, last, confidence=confidence)
            assert (await why(db, last, asked)).reason is reason, confidence


async def test_each_exclusion_reason_has_an_explanation_and_options(db: Database) -> None:
    first = await kept(db, "Takes 60s to start", confidence=0.9)
    low = await kept(db, "Low", confidence=0.1)
    off = await edit(db, await kept(db, "Off", service="nas"), active=False)
    fact = await kept(db, "We use WAL", category=Category.DECISION, project="shop", topic_key="wal")
    long = await kept(db, "long " * 400, service="caddy", confidence=0.5)
    asked = InclusionRequest(budget=200)

    found = {each.id: await why(db, each, asked) for each in (first, low, off, fact, long)}

    assert found[first.id].explanation == "Line 1 of 1."
    assert (found[first.id].rank, found[first.id].total, found[first.id].ways) == (0, 2, ())
    assert found[low.id].explanation == "Its confidence of 0.10 is below 0.30."
    assert [way.description for way in found[low.id].ways] == ["a confidence of 0.30 or more"]
    assert found[off.id].explanation == "Inactive: a person deactivated it."
    assert [way.description for way in found[off.id].ways] == ["activating it"]
    assert found[fact.id].reason is InclusionReason.KNOWLEDGE
    assert [way.description for way in found[fact.id].ways] == [
        "an operational category (timing, dependency, behavior, remediation, maintenance)"
        " and the project ops and no topic key"
    ]
    assert found[long.id].explanation == (
        "Its line is longer than the rest of the budget. Rank 2 of 2."
    )
    assert [way.description.split(" of ")[0] for way in found[long.id].ways] == ["a budget"]
    assert (await why(db, first, InclusionRequest(budget=0))).reason is InclusionReason.OFF


async def test_explanation_names_the_services_in_focus(db: Database) -> None:
    for number in range(9):
        await kept(db, f"Slow start number {number}", confidence=0.5)
    nas = await kept(db, "The disk sleeps", service="nas", confidence=1.0)
    caddy = await kept(db, "Reloads in 2s", service="caddy", confidence=1.0)
    asked = InclusionRequest(budget=110, services=("jellyfin",))

    found = await why(db, caddy, asked)

    assert found.reason is InclusionReason.BUDGET
    assert found.explanation.endswith("Rank 11 of 11. Memories about jellyfin rank first.")
    assert InclusionOption(service="caddy") in found.ways
    assert (await why(db, nas, asked)).rank == 9


async def test_as_of_an_earlier_time_has_a_reason_and_no_options(db: Database) -> None:
    memory = await kept(db, "Takes 60s to start")
    await edit(db, memory, active=False)
    then = InclusionRequest(budget=2_000, what_if=Hypothesis(at=NOON + timedelta(hours=1)))
    before = InclusionRequest(budget=2_000, what_if=Hypothesis(at=NOON - timedelta(hours=1)))

    assert (await why(db, memory)).ways == (InclusionOption(edit=Edit(active=True)),)
    assert (await why(db, memory, then)).explanation == "Line 1 of 1."
    without = replace(then, budget=5, what_if=replace(then.what_if, without=()))
    assert (await why(db, memory, without)).ways == ()
    with pytest.raises(NotFound):
        await why(db, memory, before)


async def test_hypothetically_excluded_memory_is_reported_as_excluded(db: Database) -> None:
    memory = await kept(db, "Takes 60s to start")

    found = await why(
        db, memory, InclusionRequest(budget=2_000, what_if=Hypothesis(without=(memory.id,)))
    )

    assert (found.reason, found.total, found.ways) == (InclusionReason.WITHOUT, 0, ())
    assert await memories.get(db, memory.id) == memory
