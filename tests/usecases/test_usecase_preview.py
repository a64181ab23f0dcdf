"""Previews of the prompt: without some memories, as of a moment, and the difference."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from examples import NOON, SLOW_START, session

from contexts import context
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.memory import Edit, Memory
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database
from lamplighter.usecases.memory import curate
from lamplighter.usecases.sessions import sessions
from lamplighter.usecases.sessions.preview import PreviewRequest, PromptPreview, preview_prompt
from lamplighter.usecases.sessions.prompts import Hypothesis

SERVICES = Services(
    (
        Service(name="jellyfin", depends_on=("nas",)),
        Service(name="nas"),
        Service(name="caddy"),
        Service(name="sonarr", depends_on=("jellyfin",)),
    )
)


async def known(db: Database, observation: str, **more: Any) -> Memory:
    candidate = replace(SLOW_START, observation=observation, tier=0, **more)
    return await curate.create(context(db), candidate)


async def asked(
    db: Database,
    *,
    services: tuple[str, ...] | None = None,
    budget: int = 2_000,
    what_if: Hypothesis | None = None,
    against: str | None = None,
) -> PromptPreview:
    question = PreviewRequest(
        plan=SessionPlan(services=services),
        budget=budget,
        what_if=what_if or Hypothesis(),
        against=against,
    )
    return await preview_prompt(
        db, question, SERVICES, usual_budget=2_000, now=NOON + timedelta(hours=5)
    )


async def test_left_out_memories_are_neither_included_nor_counted(db: Database) -> None:
    await known(db, "One")
    two = await known(db, "Two", service="caddy", confidence=0.6)
    await known(db, "Three")

    found = await asked(db, what_if=Hypothesis(without=(two.id,)), against="now")

    assert "(2 memories, ~" in found.block.text
    assert "Two" not in found.block.text
    assert found.difference is not None
    assert found.difference.added == ()
    assert found.difference.removed == ("- [timing] Two (confidence: 0.6)",)
    assert found.difference.text == (
        "--- now\n"
        "+++ what if\n"
        "@@ -1,8 +1,5 @@\n"
        "-## Operational Memory (3 memories, ~44 tokens)\n"
        "+## Operational Memory (2 memories, ~33 tokens)\n"
        " \n"
        " ### jellyfin\n"
        " - [timing] One (confidence: 0.7)\n"
        " - [timing] Three (confidence: 0.7)\n"
        "-\n"
        "-### caddy\n"
        "-- [timing] Two (confidence: 0.6)\n"
    )


async def test_preview_rejects_unknown_memories(db: Database) -> None:
    held = await known(db, "One")

    with pytest.raises(Invalid) as wrong:
        await asked(db, what_if=Hypothesis(without=(held.id, 7, 8)))

    assert [str(each.message) for each in wrong.value.wrong] == [
        ("names memories that do not exist: 7, 8")
    ]
    before = Hypothesis(without=(held.id,), at=NOON - timedelta(seconds=1))
    with pytest.raises(Invalid, match="names memories that do not exist at that time: 1"):
        await asked(db, what_if=before)


async def test_preview_compares_the_prompt_of_a_session_with_the_current_one(db: Database) -> None:
    await session(db)
    first = await known(db, "Takes 60s\u00a0to start")
    opened = await sessions.begin(db, SessionPlan(), services=SERVICES, epoch=1, now=NOON)
    change = Edit(observation="Takes 90s")
    later = NOON + timedelta(hours=1)
    await curate.edit(context(db, later), first.id, change, version=None)

    number = str(opened.session.id)
    found = (await asked(db, against=number)).difference
    same = (await asked(db, against=number, what_if=Hypothesis(at=NOON))).difference

    assert found is not None
    assert (found.removed, found.added) == (
        ("- [timing] Takes 60s to start (confidence: 0.7)",),
        ("- [timing] Takes 90s (confidence: 0.7)",),
    )
    assert found.text.startswith(f"--- session {number}\n+++ what if\n@@")
    assert same is not None
    assert (same.added, same.removed, same.text) == ((), (), "")


async def test_preview_reports_a_missing_session_or_prompt(db: Database) -> None:
    mute = await session(db)

    for against, words in (
        ("99", "Session 99 not found"),
        (str(2**63), "not found"),
        (str(mute.id), f"Session {mute.id} has no stored prompt"),
    ):
        with pytest.raises(NotFound, match=words):
            await asked(db, against=against)


async def test_preview_compares_another_budget_with_the_usual_one(db: Database) -> None:
    await known(db, "One")

    found = await asked(db, budget=0, against="now")

    assert found.block.text == ""
    assert found.difference is not None
    assert found.difference.removed == ("- [timing] One (confidence: 0.7)",)


async def test_dependencies_and_dependents_rank_after_the_service_in_focus(db: Database) -> None:
    for number in range(4):
        await known(db, f"General {number}", service=None, confidence=1.0)
        await known(db, f"Caddy {number}", service="caddy", confidence=0.9)
        await known(db, f"Nas {number}", service="nas", confidence=0.5)
        await known(db, f"Sonarr {number}", service="sonarr", confidence=0.45)
        await known(db, f"Jellyfin {number}", confidence=0.4)
    await session(db)
    plan = SessionPlan(tier=2, services=("jellyfin",))

    found = await asked(db, services=plan.services, budget=140)
    opened = await sessions.begin(db, plan, services=SERVICES, epoch=1, budget=140, now=NOON)

    told = [each.memory.service for each in found.block.placements if each.included]
    assert {service: told.count(service) for service in told} == {
        "jellyfin": 4,
        "nas": 4,
        "sonarr": 4,
    }
    assert opened.prompt.injected.endswith(f"\n{found.block.text}")


async def test_preview_equals_the_prompt_of_a_session(db: Database) -> None:
    await session(db)
    await known(db, "One")
    plan = SessionPlan(tier=2, services=("jellyfin",))
    now = NOON + timedelta(hours=5)

    found = await preview_prompt(
        db, PreviewRequest(plan=plan, budget=300), SERVICES, usual_budget=2_000, now=now
    )
    opened = await sessions.begin(db, plan, services=SERVICES, epoch=1, budget=300, now=now)

    assert found.prompt == opened.prompt


async def test_preview_lists_the_cost_and_remaining_budget_of_each_memory(db: Database) -> None:
    await known(db, "Near", confidence=0.4)
    await known(db, "Beside", service="nas", confidence=0.9)
    await known(db, "Everywhere", service=None, confidence=1.0)
    await known(db, "Far, and told of at some length", service="caddy", confidence=0.5)

    found = (await asked(db, services=("jellyfin",), budget=50)).as_json(whole=False)

    placed = [*found["included"], *found["excluded"]]
    placed.sort(key=lambda each: each["rank"])
    assert [(each["circle"], "position" in each) for each in placed] == [
        ("focus", True),
        ("neighbour", True),
        ("general", True),
        ("other", False),
    ]
    lefts = [each["left"] for each in placed]
    assert lefts[0] == 50
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[3] == 50 - found["tokens"] < placed[3]["tokens"]
    assert (found["total"], found["in_force"]) == (4, 2_000)
