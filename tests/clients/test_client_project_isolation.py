"""Project isolation of clients: only global memories cross projects (SEC-26)."""

import json
from typing import Any

import pytest
from client_contexts import (
    agent,
    box,
    desk,
    kept,
    learned,
    opened,
    person,
    refused,
    session_caller,
    used,
)

from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.formats.tools import CLIENT_TOOLS
from lamplighter.mcp.client_context import ClientContext
from lamplighter.repository import Database
from lamplighter.repository.memory import history, memories
from lamplighter.usecases.sessions.toolbox import OfferedTools

CANARY = "Canary of the other project"
READS = {
    "mem_context": {"query": CANARY, "limit": 50},
    "mem_search": {"query": CANARY, "limit": 50},
    "mem_graph": {"about": "Canary", "depth": 3},
    "mem_why": {"question": "Canary"},
    "mem_stats": {},
    "mem_review": {},
}


async def speakers(db: Database, here: ClientContext) -> dict[str, OfferedTools]:
    """Return the tools of a caller of each kind, none with access to the project `other`."""
    callers: dict[str, Caller] = {
        "agent": agent("hermes"),
        "session": session_caller(await opened(db)),
        "person": person("admin"),
    }
    return {name: await box(here, each) for name, each in callers.items()}


@pytest.fixture
def here(db: Database) -> ClientContext:
    return desk(db, Agent(name="hermes", project="Shop"), Agent(name="other"))


async def test_a_memory_of_another_project_is_not_found_read_or_changed(
    db: Database, here: ClientContext
) -> None:
    theirs = await kept(db, CANARY, project="other", topic_key="canary/key", service="Canary")
    before = await memories.get(db, theirs.id)
    taken = {
        "read_memory": {"id": theirs.id},
        "mem_timeline": {"id": theirs.id},
        "mem_delete": {"id": theirs.id},
        "mem_update": {"id": theirs.id, "content": "Mine now"},
    }
    for who, tools in (await speakers(db, here)).items():
        for name, given in READS.items():
            answer = await tools.use(name, given)
            told = f"{answer.text} {json.dumps(answer.structured)}".replace(repr("Canary"), "")
            assert CANARY not in told, (who, name)
            assert str(theirs.project) not in told.split(), (who, name)
        for name, given in taken.items():
            words = await refused(tools, name, **given)
            assert words.startswith(f"Not done. Memory {theirs.id} not found")
        # the same topic and the same words are another memory there
        saved = {"type": "discovery", "title": "x", "content": CANARY, "topic_key": "canary/key"}
        mine = await used(tools, "mem_save", **saved)
        assert mine["id"] != theirs.id
        assert mine["project"] != "other"

    assert await memories.get(db, theirs.id) == before


@pytest.mark.parametrize(
    "typed", ["project:other", "PROJECT:Other", 'project:"other"', "project:other in:all", "in:all"]
)
async def test_a_query_cannot_select_another_project(
    db: Database, here: ClientContext, typed: str
) -> None:
    await kept(db, CANARY, project="other")
    for who, tools in (await speakers(db, here)).items():
        for query in (f"{typed} canary", f"canary {typed}", f"type:decision {typed} canary"):
            answer = await tools.use("mem_search", {"query": query})
            assert CANARY not in f"{answer.text} {json.dumps(answer.structured)}", (who, query)


async def test_a_global_memory_is_found_everywhere_but_changed_only_in_its_project(
    db: Database, here: ClientContext
) -> None:
    """Case 125."""
    theirs = await kept(db, CANARY, project="other", scope="global")
    at_home = await box(here, agent("other", number=9))
    for tools in (await speakers(db, here)).values():
        found = await used(tools, "mem_search", query="canary")
        assert [each["id"] for each in found["results"]] == [theirs.id]
        assert (found["results"][0]["scope"], found["results"][0]["project"]) == ("global", "other")
        assert (await used(tools, "read_memory", id=theirs.id))["content"] == CANARY
        words = await refused(tools, "mem_delete", id=theirs.id)
        assert words == f"Not done. Memory {theirs.id} belongs to the project other."

    assert (await used(at_home, "mem_delete", id=theirs.id))["deleted"]


@pytest.mark.parametrize("offer", CLIENT_TOOLS, ids=lambda each: each.name)
async def test_a_bound_caller_cannot_name_another_project(
    db: Database, here: ClientContext, offer: Any
) -> None:
    example = offer.schema["examples"][0]
    for who, tools in (await speakers(db, here)).items():
        if who == "person" or offer.name not in {each.name for each in tools.tools}:
            continue
        words = await refused(tools, offer.name, **example, project="other")
        unknown, own = "project: is unknown; valid names: ", "project: is 'other'; it is one of "
        assert words.startswith((f"Not done. {unknown}", f"Not done. {own}")), who
        assert (own in words) is (who != "session"), who


async def test_a_person_may_name_any_project_in_any_case(db: Database, here: ClientContext) -> None:
    tools = await box(here, person())
    saved = {"type": "learning", "title": "x", "content": CANARY}

    mine = await used(tools, "mem_save", **saved, project=" MyProj ")
    there = await used(tools, "mem_search", query="canary", project="myPROJ")
    usual = await used(await box(here, person(), project="MYPROJ"), "read_memory", id=mine["id"])
    elsewhere = await used(tools, "mem_search", query="canary")

    assert mine["project"] == "myproj"
    assert [each["id"] for each in there["results"]] == [mine["id"]]
    assert usual["content"] == CANARY
    assert elsewhere["results"] == []


async def test_a_client_cannot_end_or_use_the_session_of_another(
    db: Database, here: ClientContext
) -> None:
    other = await box(here, agent("other", number=9))
    await used(other, "mem_session_start", session_id="theirs")
    saved = {"type": "learning", "title": "x", "content": CANARY}
    for name in ("agent", "person"):
        tools = (await speakers(db, here))[name]
        for tool, given in (
            ("mem_session_end", {"session_id": "theirs", "summary": "Nothing happened"}),
            ("mem_session_summary", {"session_id": "theirs", "summary": "Nothing happened"}),
            ("mem_save", {**saved, "session_id": "theirs"}),
        ):
            words = await refused(tools, tool, **given)
            assert "theirs" in words
            assert "Nothing" not in words
        # what it calls so is one of its own
        begun = await used(tools, "mem_session_start", session_id="theirs")
        assert begun["project"] != "other"
        assert (await used(tools, "mem_save", **saved, session_id="theirs"))["project"] != "other"
        assert (await used(tools, "mem_session_end", session_id="theirs"))["summary"] == ""

    ended = await used(other, "mem_session_end")
    assert ended == {**ended, "session_id": "theirs", "summary": "", "status": "completed"}


async def test_a_client_cannot_change_an_operational_memory(
    db: Database, here: ClientContext
) -> None:
    held = await learned(db, "Fails on Mondays", service="Web")
    tools = await box(here, person("admin"), project="ops")

    for name, given in (("mem_delete", {}), ("mem_update", {"content": "Never fails"})):
        words = await refused(tools, name, id=held.id, **given)
        assert words.startswith(f"Not done. Memory {held.id} is operational (behavior)")

    assert await memories.get(db, MemoryId(held.id)) == held
    assert len((await history.of_memory(db, held.id, limit=9)).items) == 1
