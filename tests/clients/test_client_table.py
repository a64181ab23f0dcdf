"""The tools that the MCP server offers to clients are those of the table; their hints are true."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from client_contexts import WAL, box, desk, opened, session_caller, used
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from lamplighter.formats.tools import CLIENT_TOOLS
from lamplighter.repository import Database
from living import Server
from tool_hints import as_annotations

ARGUMENTS: dict[str, dict[str, Any]] = {
    "mem_context": {"query": "WAL"},
    "mem_search": {"query": "WAL"},
    "read_memory": {"id": 1},
    "mem_save": WAL,
    "mem_update": {"id": 1, "title": "WAL mode for all"},
    "mem_confirm": {"id": 1},
    "mem_verify": {"id": 1},
    "mem_delete": {"id": 1},
    "mem_timeline": {"id": 1},
    "mem_graph": {"about": "1"},
    "incidents": {},
    "service": {"service": "web"},
    "mem_why": {"question": "Why WAL?"},
    "mem_session_start": {},
    "mem_session_summary": {"summary": "Moved the queue"},
    "mem_session_end": {},
    "mem_review": {"id": 1, "note": "Measured today"},
    "mem_stats": {},
    "handoff": {"service": "web", "reason": "Answers 502"},
}


@asynccontextmanager
async def client(server: Server, token: str) -> AsyncIterator[Client]:
    shown = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=shown, trust_env=False) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as asked,
    ):
        yield asked


def every_row(server: Server) -> dict[str, list[tuple[Any, ...]]]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    with server.home.reader.kept():
        names = server.home.rows(query)
        return {name: server.home.rows(f'SELECT * FROM "{name}"') for (name,) in names}


def idle(server: Server) -> None:
    """Wait until the graph and the search index have followed all changes in the background."""
    query = (
        "SELECT memory_id IS NULL AND seq = (SELECT max(seq) FROM changes)"
        " AND NOT EXISTS (SELECT 1 FROM unindexed) FROM graph_position"
    )
    end = time.monotonic() + 30
    while server.home.rows(query) != [(1,)]:
        assert time.monotonic() < end, "graph or index are still behind"
        time.sleep(0.1)


async def changes(server: Server, asked: Client, name: str, given: dict[str, Any]) -> set[str]:
    """Return the tables that a call changes."""
    idle(server)
    before = every_row(server)
    answer = await asked.call_tool(name, given)
    after = every_row(server)
    assert not answer.is_error or name == "mem_delete", answer.content
    return {table for table in after if after[table] != before[table]}


async def test_clients_are_offered_the_tools_of_the_table(
    server: Server, tokens: dict[str, str]
) -> None:
    async with client(server, tokens["all"]) as asked:
        listed = (await asked.list_tools()).tools

    assert len(listed) == len(CLIENT_TOOLS) == len(ARGUMENTS)
    for each, declared in zip(listed, CLIENT_TOOLS, strict=True):
        assert (each.name, each.title, each.description) == (
            declared.name,
            declared.title,
            declared.about,
        )
        assert each.input_schema == declared.schema
        assert each.annotations is not None
        annotations = each.annotations.model_dump(by_alias=True, exclude_none=True)
        assert annotations == as_annotations(declared.hints)


@pytest.mark.parametrize("declared", CLIENT_TOOLS, ids=lambda each: each.name)
async def test_each_tool_writes_only_as_its_hints_declare(
    server: Server, tokens: dict[str, str], declared: Any
) -> None:
    project = {"project": f"hints-{declared.name}"}
    given = ARGUMENTS[declared.name] | project
    async with client(server, tokens["all"]) as asked:
        for text in ("One", "Two"):
            begun = await asked.call_tool("mem_session_start", project)
            saved = await asked.call_tool("mem_save", WAL | project | {"content": text})
        assert begun.structured_content is not None
        assert saved.structured_content is not None
        number = saved.structured_content["id"]
        if declared.name == "mem_review":
            given["id"] = open_review(server, number)
        elif "id" in given:
            given["id"] = number
        elif "about" in given:
            given["about"] = str(number)
        if declared.name == "mem_confirm":
            typed = "UPDATE memories SET source = 'owner', trust = 'unverified' WHERE id = ?"
            server.home.write(typed, number)
        first = await changes(server, asked, declared.name, given)
        again = await changes(server, asked, declared.name, given)

    assert (first == set()) == declared.hints.read_only
    assert (again == set()) == declared.hints.idempotent


async def test_mem_review_is_read_only_for_a_token_that_only_reads(
    server: Server, tokens: dict[str, str]
) -> None:
    async with client(server, tokens["reader"]) as asked:
        listed = {each.name: each.annotations for each in (await asked.list_tools()).tools}
        changed = await changes(server, asked, "mem_review", {})

    assert listed["mem_review"] is not None
    assert listed["mem_review"].read_only_hint
    assert changed == set()


async def test_verification_never_reveals_the_content_of_the_source(
    server: Server, tokens: dict[str, str]
) -> None:
    async with client(server, tokens["all"]) as asked:
        found = []
        for text in ("`ls` is installed", "`zzz-program` is installed"):
            given = {**WAL, "project": "verify", "content": text, "topic_key": None}
            saved = await asked.call_tool("mem_save", given)
            assert saved.structured_content is not None
            number = saved.structured_content["id"]
            answer = await asked.call_tool("mem_verify", {"project": "verify", "id": number})
            assert not answer.is_error, answer.content
            found.append(answer.structured_content)
        hidden = await asked.call_tool("mem_verify", {"project": "other", "id": number})

    passed, failed = found
    assert (passed["state"], failed["state"]) == ("passed", "failed")
    assert passed["evidence"] == [
        {"claim": "command: ls", "state": "confirmed", "source": "programs"}
    ]
    assert len(failed["reviews"]) == 1
    assert hidden.is_error


def open_review(server: Server, number: int) -> int:
    server.home.write(
        "INSERT INTO reviews (kind, state, old_id, new_id, category, reason, said, created_at, "
        "version) SELECT 'possible', 'open', ?, id, category, 'They differ', '', created_at, "
        "1 FROM memories WHERE id = ?",
        number - 1,
        number,
    )
    return int(server.home.value("SELECT max(id) FROM reviews"))


async def test_a_search_by_a_session_is_recorded_and_not_hinted_as_read_only(db: Database) -> None:
    tools = await box(desk(db), session_caller(await opened(db)))

    (search,) = (each for each in tools.tools if each.name == "mem_search")
    assert not search.hints.read_only
    await used(tools, "mem_search", query="WAL")
    assert await db.fetch_val("SELECT count(*) FROM searches") == 1
