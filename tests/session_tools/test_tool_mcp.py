"""The tools of a session over MCP: a real server, called by the real client and by raw requests."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from lamplighter.engines import ToolEndpoint
from lamplighter.formats.tools.definition import ToolHints
from lamplighter.mcp.session_server import SessionServer

HINTS = ToolHints()
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass
class Said:
    text: str
    is_error: bool = False
    structured: Mapping[str, Any] | None = None


@dataclass
class Offered:
    name: str
    about: str
    schema: Mapping[str, Any]
    title: str = "Say it"
    hints: ToolHints = HINTS


@dataclass
class Box:
    """Tools that return their input."""

    word: str
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tools(self) -> list[Offered]:
        return [Offered(f"say_{self.word}", "Says it again.", {"type": "object"})]

    async def use(self, name: str, given: Mapping[str, Any]) -> Said:
        if name == "hangs":
            self.begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                self.ended.set()
        return Said(f"{self.word}: {json.dumps(given)}", name == "fails", {"given": dict(given)})


@pytest.fixture
async def doors() -> AsyncIterator[SessionServer]:
    async with SessionServer() as opened:
        yield opened


@asynccontextmanager
async def client(door: ToolEndpoint) -> AsyncIterator[Client]:
    shown = {"Authorization": f"Bearer {door.token}"}
    async with (
        httpx2.AsyncClient(headers=shown, trust_env=False) as http,
        Client(streamable_http_client(door.url, http_client=http)) as asked,
    ):
        yield asked


async def ask(
    door: ToolEndpoint, body: Any = LIST, method: str = "POST", **headers: str
) -> httpx2.Response:
    given = {**HEADERS, "Authorization": f"Bearer {door.token}", **headers}
    shown = {name: value.encode() for name, value in given.items() if value}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient(trust_env=False) as http:
        return await http.request(method, door.url, content=content, headers=shown)


async def test_each_session_lists_and_calls_its_own_tools(doors: SessionServer) -> None:
    async with doors.open(Box("one")) as first, doors.open(Box("two")) as second:
        assert (first.url, first.token == second.token) == (second.url, False)
        for door, word in ((first, "one"), (second, "two")):
            async with client(door) as asked:
                offered = await asked.list_tools()
                good = await asked.call_tool("any", {"text": "héllo"})
                bad = await asked.call_tool("fails", {})

            assert [each.name for each in offered.tools] == [f"say_{word}"]
            assert good.structured_content is None  # an engine would show it instead of the text
            assert good.meta is not None
            assert good.meta["lamplighter/found"] == {"given": {"text": "héllo"}}
            assert (good.is_error, bad.is_error) == (False, True)
            assert good.content[0].type == "text"
            assert good.content[0].text == f'{word}: {{"text": "h\\u00e9llo"}}'


async def test_request_without_the_token_of_a_running_session_is_rejected(
    doors: SessionServer,
) -> None:
    box = Box("one")
    async with doors.open(box) as door:
        wrong = ["", "Bearer", "Bearer x", "Bearer é", f"Basic {door.token}", door.token]
        wrong += [f"Bearer {door.token}x", f"Bearer {door.token[:-1]}", f"Bearer x, {door.token}"]
        for header in wrong:
            answer = await ask(door, Authorization=header)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert (await ask(door)).status_code == 200
    async with doors.open(box):
        assert (await ask(door)).status_code == 401


async def test_request_with_foreign_host_or_origin_is_rejected(doors: SessionServer) -> None:
    hosts = [None, "localhost", "evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:evil"]
    origins = [None, "null", "https://evil.example", "http://127.0.0.1", "own"]
    async with doors.open(Box("one")) as door:
        for host, origin in itertools.product(hosts, origins):
            origin = door.url.removesuffix("/mcp") if origin == "own" else origin
            headers = ({"Host": host} if host else {}) | ({"Origin": origin} if origin else {})
            answer = await ask(door, **headers)
            assert answer.status_code == (421 if host else 403 if origin else 200), headers


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        ("GET", b"", 405),
        ("DELETE", b"", 405),
        ("POST", b"no json", 400),
        ("POST", b"[" * 20_000, 400),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}', 200),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "nothing/such", "params": {}}', 200),
    ],
)
async def test_malformed_request_is_rejected_without_traceback(
    doors: SessionServer, method: str, body: bytes, status: int
) -> None:
    async with doors.open(Box("one")) as door:
        answer = await ask(door, body, method)
        again = await ask(door)

    assert (answer.status_code, again.status_code) == (status, 200)
    assert "Traceback" not in answer.text


async def test_oversized_request_is_rejected_before_it_is_read(doors: SessionServer) -> None:
    async with doors.open(Box("one")) as door:
        place = httpx2.URL(door.url)
        reader, writer = await asyncio.open_connection(place.host, place.port)
        head = [f"POST {place.path} HTTP/1.1", f"Host: {place.netloc.decode()}"]
        head += [f"Authorization: Bearer {door.token}", "Content-Length: 300000", "", ""]
        writer.write("\r\n".join(head).encode())
        status = await asyncio.wait_for(reader.readline(), 30)
        writer.close()
        await writer.wait_closed()

    assert status.startswith(b"HTTP/1.1 413 ")


async def test_other_paths_return_404(doors: SessionServer) -> None:
    async with doors.open(Box("one")) as door:
        answer = await ask(ToolEndpoint(door.url.replace("/mcp", "/other"), door.token))

    assert answer.status_code == 404


async def test_running_tool_call_is_cancelled_when_its_session_ends(doors: SessionServer) -> None:
    box = Box("one")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    async with doors.open(box) as door:
        params = {"name": "hangs", "arguments": {}}
        asking = asyncio.create_task(ask(door, {**call, "params": params}))
        await asyncio.wait_for(box.begun.wait(), 30)
    assert box.ended.is_set()
    answer = (await asking).json()["result"]

    assert (answer["isError"], answer["content"][0]["text"]) == (True, "The session has ended.")


async def test_server_refuses_connections_after_the_supervisor_ends(
    doors: SessionServer,
) -> None:
    async with SessionServer() as own, own.open(Box("one")) as door:
        assert (await ask(door)).status_code == 200
    with pytest.raises(httpx2.ConnectError):
        await ask(door)


def test_supervisor_does_not_import_mcp_before_use() -> None:
    code = "import sys, lamplighter.serve.supervisor; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
