"""Tool calls over MCP while the database is lost, locked or full: plain errors, and recovery."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from staged import SmallDisk

from lamplighter.repository.store import driver
from living import Home, Server
from lost_answers import losing
from postgres_server import PostgresServer

SAVE = {"type": "decision", "title": "WAL", "content": "WAL lets reads go on."}
SEARCH = {"query": "reads"}
AWAY = "The database is not available. Nothing was changed. Try again in a moment."
FULL = "The disk of the database is full. Nothing was changed. Free some space, then try again."
UNCONFIRMED = (
    "The database did not confirm the change. It may have been made: check before you try again."
)


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that this test may stop."""
    started = PostgresServer()
    yield started
    started.remove()


@asynccontextmanager
async def connected(home: Home) -> AsyncIterator[list[Client]]:
    """Yield a client over HTTP and a client over standard input and output."""
    server = await asyncio.to_thread(Server, home)
    token = (home.path / "token").read_text().strip()
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "lamplighter", "mcp"],
        env={**home.env, "LAMPLIGHTER_TOKEN": token},
    )
    try:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=home.way_in, trust_env=False, timeout=60)
            )
            over_http = streamable_http_client(f"{server.url}/mcp", http_client=http)
            over_pipes = stdio_client(started)
            yield [
                await stack.enter_async_context(Client(each)) for each in (over_http, over_pipes)
            ]
    finally:
        server.kill()


async def failure(client: Client, name: str, arguments: dict[str, str]) -> str:
    """Return the text of a call that fails."""
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


async def succeeds(client: Client, name: str, arguments: dict[str, str]) -> bool:
    return not (await client.call_tool(name, arguments)).is_error


async def test_calls_fail_without_a_server_and_succeed_when_it_is_back(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.create("lamplighter")
    async with connected(Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": url})) as clients:
        assert [await succeeds(each, "mem_save", SAVE) for each in clients] == [True, True]

        postgres_server.stop()
        saved = [await failure(each, "mem_save", SAVE) for each in clients]
        found = [await failure(each, "mem_search", SEARCH) for each in clients]
        listed = []
        for each in clients:
            with pytest.raises(MCPError) as error:
                await each.list_tools()
            listed.append(error.value.error.message)
        postgres_server.start()

        assert saved == found == listed == [AWAY, AWAY]
        for each in clients:
            assert await succeeds(each, "mem_save", SAVE)
            assert await succeeds(each, "mem_search", SEARCH)
            assert (await each.list_tools()).tools


async def test_a_save_without_a_confirmed_commit_is_not_called_undone(
    postgres_url: str, tmp_path: Path
) -> None:
    lost = False
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with (
            losing(postgres_url, Path(there), lambda: lost) as url,
            connected(Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": url})) as clients,
        ):
            assert [await succeeds(each, "mem_save", SAVE) for each in clients] == [True, True]

            lost = True
            saved = [await failure(each, "mem_save", SAVE) for each in clients]
            read = [await failure(each, "mem_stats", {}) for each in clients]
            lost = False

            assert (saved, read) == ([UNCONFIRMED] * 2, [AWAY] * 2)
            assert [await succeeds(each, "mem_save", SAVE) for each in clients] == [True, True]


async def test_a_locked_file_is_reported_and_reading_continues(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    async with connected(home) as clients:
        with closing(driver.connect(str(home.path / "lamplighter.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            saved = await asyncio.gather(*(failure(each, "mem_save", SAVE) for each in clients))
            found = [await succeeds(each, "mem_search", SEARCH) for each in clients]

        assert (saved, found) == ([AWAY, AWAY], [True, True])
        assert [await succeeds(each, "mem_save", SAVE) for each in clients] == [True, True]


async def test_a_full_disk_is_reported_and_reading_continues(disk: SmallDisk) -> None:
    async with connected(Home(disk.path / "home")) as clients:
        disk.fill()
        large = {**SAVE, "content": "x" * 40_000}
        saved = [[await failure(each, "mem_save", large) for _ in range(3)] for each in clients]
        found = [await succeeds(each, "mem_search", SEARCH) for each in clients]
        disk.free()

        assert (saved, found) == ([[FULL] * 3] * 2, [True, True])
        assert [await succeeds(each, "mem_save", SAVE) for each in clients] == [True, True]
