"""Each tool over both interfaces, the socket and MCP: the same answers to any arguments."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from gates import SERVICES, opened, uses
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from toolboxes import box

from confidences import LEARNED, UP, after
from lamplighter.formats.tools import SESSION_TOOLS
from lamplighter.mcp.session_server import SessionServer
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.supervisor.tools import gateway
from lamplighter.supervisor.tools.toolbox import Toolbox
from lamplighter.usecases.sessions.toolbox import ANSWER_CHARS, Tool, ToolOutput

SOUND: dict[str, dict[str, Any]] = {
    "run_action": {"service": "web", "action": "restart", "reason": "Refuses connections"},
    "mem_save": {"category": "timing", "observation": "Takes 60s to start", "service": "web"},
    "mem_search": {"query": "start"},
    "read_memory": {"id": 1},
    "handoff": {"service": "web", "reason": "Still down"},
}
DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]
ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", " ", "\0", "\u202e", "🎉"),
    *("x" * 30_000, [], {}, [1], {"a": {"b": {}}}, DEEP, "'; DROP TABLE memories;--", "../../etc"),
]


class Socket:
    """The interface over a socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, question: Any) -> dict[str, Any]:
        self.writer.write(json.dumps(question).encode() + b"\n")
        answer = await asyncio.wait_for(self.reader.readline(), 60)
        found: dict[str, Any] = json.loads(answer)
        return found

    async def use(self, name: str, given: dict[str, Any]) -> tuple[str, bool, Any]:
        answer = await self.ask({"tool": name, "input": given})
        return answer["text"], answer["is_error"], answer["found"]


@asynccontextmanager
async def by_socket(tools: Toolbox, path: Path) -> AsyncIterator[Socket]:
    async with gateway.serve_gate(tools, path / "gate.sock") as door:
        reader, writer = await asyncio.open_unix_connection(door)
        yield Socket(reader, writer)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def by_mcp(tools: Toolbox) -> AsyncIterator[Client]:
    async with SessionServer() as doors, doors.open(tools) as door:
        shown = {"Authorization": f"Bearer {door.token}"}
        async with (
            httpx2.AsyncClient(headers=shown, trust_env=False) as http,
            Client(streamable_http_client(door.url, http_client=http)) as asked,
        ):
            yield asked


async def called(client: Client, name: str, given: dict[str, Any]) -> tuple[str, bool, Any]:
    answer = await asyncio.wait_for(client.call_tool(name, given), 60)
    (said,) = answer.content
    assert said.type == "text"
    found = (answer.meta or {}).get("lamplighter/found")
    return said.text, answer.is_error, found


async def test_both_interfaces_offer_the_same_tools(db: Database, tmp_path: Path) -> None:
    tools = box(db, await opened(db), roots=(tmp_path,))
    async with by_socket(tools, tmp_path) as socket:
        told = (await socket.ask({"tools": True}))["tools"]
    async with by_mcp(tools) as client:
        listed = (await client.list_tools()).tools

    named = [each.name for each in SESSION_TOOLS if not each.commands]
    assert [each["name"] for each in told] == named
    assert [(each.name, each.description, each.input_schema) for each in listed] == [
        (each["name"], each["about"], each["schema"]) for each in told
    ]


async def test_both_interfaces_return_the_same_results_for_their_session(
    db: Database, tmp_path: Path
) -> None:
    first, second = await opened(db, tier=3), await opened(db, tier=3)
    again = {**SOUND, "handoff": {"service": "other", "reason": "Still down"}}  # web is awaited
    answers = []
    async with by_socket(box(db, first), tmp_path) as socket:
        answers.append({name: await socket.use(name, given) for name, given in SOUND.items()})
    async with by_mcp(box(db, second)) as client:
        answers.append({name: await called(client, name, again[name]) for name in again})

    for name in ("mem_search", "read_memory", "handoff"):
        (one, failed, found), (other, *rest) = answers[0][name], answers[1][name]
        expected = one.replace(f"{LEARNED}", f"{after(UP)}")
        if name == "handoff":
            expected = expected.replace("Web", "other")
        assert (expected, failed) == (other, rest[0])
        assert found.keys() == rest[1].keys()
    assert [each["run_action"][1] for each in answers] == [False, False]
    assert [use.session_id for use in await uses(db)] == [first.id, second.id]
    (held,) = (await memories.page(db, MemoryFilter(), sort=Sort.CREATED, limit=9)).items
    assert (held.session_id, held.tier, held.confidence) == (first.id, 3, after(UP))


@pytest.mark.parametrize("door", ["socket", "mcp"])
async def test_invalid_tool_arguments_return_an_explanation(
    db: Database, tmp_path: Path, door: str, caplog: pytest.LogCaptureFixture
) -> None:
    tools = box(db, await opened(db, tier=3, services=()), roots=(tmp_path,))
    given = [
        (offer.name, {name: odd})
        for offer in SESSION_TOOLS
        if not offer.commands
        for name in (*offer.schema["properties"], "else")
        for odd in ODD
    ]
    async with by_socket(tools, tmp_path) as socket, by_mcp(tools) as client:
        for name, fields in given if door == "socket" else given[::17]:
            if door == "socket":
                text, failed, _ = await socket.use(name, fields)
            else:
                text, failed, _ = await called(client, name, fields)
            assert text
            assert text.isprintable() or "\n" in text
            assert len(text) < 3_000
            assert failed or name == "mem_search", (name, text)

    assert caplog.records == [], caplog.text
    assert await uses(db) == []


async def test_hanging_failing_and_flooding_tools_are_bounded(
    db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def hangs(given: object) -> ToolOutput:
        assert tools.gate.busy, "it is not idle that waits for a tool"
        await asyncio.sleep(600)
        raise AssertionError

    async def breaks(given: object) -> ToolOutput:
        raise RuntimeError("hunter2-hunter2")

    async def floods(given: object) -> ToolOutput:
        text = "\x1b[31mred\u202e hunter2-hunter2 " + "x" * 10**6
        return ToolOutput(
            text=text, structured={"a": {"b": [text, float("inf")]}, "object": object()}
        )

    uses = {"hangs": hangs, "breaks": breaks, "floods": floods}
    made = [
        Tool(name=name, about="", schema={"type": "object"}, use=use, seconds=0.1)
        for name, use in uses.items()
    ]
    tools = box(db, await opened(db))
    tools.tools = tuple(made)
    async with by_mcp(tools) as client:
        hung = await called(client, "hangs", {})
        broken = await called(client, "breaks", {})
        flooded = await called(client, "floods", {})

    assert not tools.gate.busy
    assert hung == ("Stopped: hangs took longer than 0.1 s.", True, None)
    assert broken[:2] == ("Not done: internal error in breaks. The log has the details.", True)
    assert len(flooded[0]) == ANSWER_CHARS
    assert flooded[0].startswith("[31mred [REDACTED:DB_PASSWORD] xxx")
    assert len(flooded[2]["a"]["b"][0]) == ANSWER_CHARS
    assert flooded[2]["object"] is None
    assert [record.message for record in caplog.records] == ["breaks failed"]
    assert len(SERVICES) == 2
