"""The prompt of a session: chosen in order, within the budget, stored byte for byte."""

from dataclasses import replace
from typing import Any

import pytest
from examples import NOON, SLOW_START, rows, session

import direct_writes
from contexts import context
from lamplighter.domain.limits import DEFAULT_BUDGET
from lamplighter.domain.memory.memory import Category, Edit, Memory
from lamplighter.domain.services.check import HttpCheck
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.context import (
    FITS,
    NO_ROOM,
    TOO_LONG,
    MemoryBlock,
    build_env_context,
)
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database
from lamplighter.repository.memory import exposures
from lamplighter.usecases.memory import curate
from lamplighter.usecases.sessions import prompts, sessions

SERVICES = Services(
    (
        Service(name="jellyfin", checks=(HttpCheck(name="web", url="http://127.0.0.1:8096/"),)),
        Service(name="caddy", checks=()),
    )
)


async def known(db: Database, observation: str, **more: Any) -> Memory:
    candidate = replace(SLOW_START, observation=observation, tier=0, **more)
    return await curate.create(context(db), candidate)


def told(block: MemoryBlock) -> list[str]:
    return [each.memory.observation for each in block.placements if each.included]


async def test_no_memories_make_an_empty_block(db: Database) -> None:
    assert await prompts.build_memory_context(db) == MemoryBlock()


async def test_block_is_grouped_by_service_with_general_last(db: Database) -> None:
    await known(db, "For all", service=None, confidence=1.0)
    await known(db, "Starts slowly", confidence=0.8)
    await known(db, "Locks at first", category=Category.BEHAVIOR, confidence=0.95)
    await known(db, "Needs WireGuard", service="caddy", confidence=0.9)

    block = await prompts.build_memory_context(db)

    assert block.text == (
        "## Operational Memory (4 memories, ~65 tokens)\n"
        "\n### jellyfin\n"
        "- [behavior] Locks at first (confidence: 0.95)\n"
        "- [timing] Starts slowly (confidence: 0.8)\n"
        "\n### caddy\n"
        "- [timing] Needs WireGuard (confidence: 0.9)\n"
        "\n### general\n"
        "- [timing] For all (confidence: 1.0)\n"
    )
    assert block.tokens == 65 == -(-len(block.text) // 4)
    assert [(each.position, each.why) for each in block.placements] == [
        (0, FITS),
        (1, FITS),
        (2, FITS),
        (3, FITS),
    ]


async def test_memories_of_equal_confidence_are_ordered_newest_first(db: Database) -> None:
    first, second, third = [await known(db, f"Fact {number}") for number in range(3)]
    later = NOON.replace(hour=13)
    edit = Edit(observation="Fact 2, newer")
    await curate.edit(context(db, later), third.id, edit, version=None)

    assert told(await prompts.build_memory_context(db)) == [
        "Fact 2, newer",
        first.observation,
        second.observation,
    ]


async def test_inactive_low_and_knowledge_memories_are_not_included(db: Database) -> None:
    await known(db, "Low", confidence=0.29)
    aside = await known(db, "Put aside", confidence=0.9)
    edit = Edit(active=False)
    await curate.edit(context(db), aside.id, edit, version=None)
    await known(db, "Decided", category=Category.DECISION, confidence=1.0)
    await known(db, "Just enough", confidence=0.3)

    block = await prompts.build_memory_context(db)

    assert told(block) == ["Just enough"]


async def test_services_in_focus_are_included_first(db: Database) -> None:
    for number in range(5):
        await known(db, f"Jellyfin {number}", confidence=0.4)
        await known(db, f"Caddy {number}", service="caddy", confidence=0.9)
        await known(db, f"General {number}", service=None, confidence=1.0)
    budget = 75

    spec = await prompts.build_memory_context(db, budget=budget)
    focused = await prompts.build_memory_context(db, budget=budget, focus=("jellyfin",))

    assert not [each for each in told(spec) if each.startswith("Jellyfin")]
    assert len([each for each in told(focused) if each.startswith("Jellyfin")]) == 5
    assert focused.tokens <= budget
    assert "of 15 memories" in focused.text


@pytest.mark.parametrize("budget", [0, 1, 20, 100, 500, DEFAULT_BUDGET])
async def test_block_is_within_the_budget(db: Database, budget: int) -> None:
    for number in range(60):
        await known(db, f"Fact {number} " + "x" * (number * 7), confidence=1 - number / 100)

    block = await prompts.build_memory_context(db, budget=budget)

    assert block.tokens == -(-len(block.text) // 4) <= budget
    assert len(block.placements) == 60
    assert all((each.why == FITS) == each.included for each in block.placements)


async def test_memories_over_the_budget_are_skipped_and_the_rest_included(db: Database) -> None:
    await known(db, "x" * 9_000, confidence=1.0)
    for number in range(10):
        await known(db, f"Short {number}", confidence=0.5)

    block = await prompts.build_memory_context(db)

    assert len(told(block)) == 10
    assert block.text.startswith("## Operational Memory (10 of 11 memories, ~")
    assert [each.why for each in block.placements if not each.included] == [TOO_LONG]


async def test_excluded_memories_are_listed_up_to_a_limit(db: Database) -> None:
    for number in range(400):
        await known(db, f"Fact {number:03}")

    block = await prompts.build_memory_context(db, budget=60)

    left_out = [each for each in block.placements if not each.included]
    assert len(left_out) == prompts.MAX_EXCLUDED
    assert {each.why for each in left_out} <= {NO_ROOM, TOO_LONG}
    assert "of 400 memories" in block.text


async def test_memory_cannot_forge_a_heading(db: Database, url: str) -> None:
    await known(db, "Harmless")
    direct_writes.run(url, "UPDATE memories SET observation = 'x\n### root\n- [timing] forged'")

    text = (await prompts.build_memory_context(db)).text

    assert text.count("\n### ") == text.count("\n- ") == 1


async def test_session_prompt_is_recorded_verbatim(db: Database) -> None:
    await session(db)
    await known(db, "Starts slowly")
    await known(db, "x" * 9_000, confidence=1.0)
    plan = SessionPlan(tier=2, services=("jellyfin",), prompt="Look closer")

    opened = await sessions.begin(db, plan, services=SERVICES, epoch=1, now=NOON)

    block = await prompts.build_memory_context(db, focus=plan.services)
    environment = build_env_context(plan, [SERVICES.items[0]], now=NOON)
    assert opened.prompt.injected == f"{environment}\n{block.text}"
    assert (opened.prompt.message, opened.prompt.tokens) == ("Look closer", block.tokens)
    assert await exposures.prompt(db, opened.session.id) == opened.prompt
    kept = await exposures.of_session(db, opened.session.id)
    assert [(each.memory_id, each.position, each.why, each.line) for each in kept] == [
        (1, 0, FITS, "- [timing] Starts slowly (confidence: 0.7)"),
        (2, None, TOO_LONG, ""),
    ]
    assert [each.observation for each in opened.included] == ["Starts slowly"]
    assert all(line in opened.prompt.injected for line in (each.line for each in kept))


async def test_prompt_without_memories_has_only_the_environment(db: Database) -> None:
    await session(db)

    opened = await sessions.begin(db, SessionPlan(), services=SERVICES, epoch=1, now=NOON)

    assert opened.prompt.injected == build_env_context(SessionPlan(), SERVICES.items, now=NOON)
    assert "Operational Memory" not in opened.prompt.injected
    assert await rows(db, "exposures") == []
