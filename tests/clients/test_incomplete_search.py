"""Every search interface reports rows that are not indexed yet and were not searched."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from gates import opened
from test_mcp_http import call, client
from toolboxes import box, used

from lamplighter.cli.search import search
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.serve.queries import search as queries
from living import Home, Server

WORDS = "The quagga starts in a minute"
MANY = 600
"""The number of rows for which a search does not wait long."""

STUCK = "CREATE TRIGGER stuck BEFORE DELETE ON unindexed WHEN OLD.id > 1000 BEGIN SELECT {}; END"
"""Rows that stay unindexed, as on a machine that is too slow."""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = Home(tmp_path_factory.mktemp("busy") / "home", {"LAMPLIGHTER_VECTORS": "off"})
    started = Server(home)
    given = {"category": "decision", "observation": WORDS, "project": "ops"}
    httpx2.post(f"{started.url}/api/v1/memories", headers=started.headers, json=given, timeout=20)
    home.write(STUCK.format("RAISE(IGNORE)"))
    numbers = (
        "WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 1000 + ?)"
    )
    home.write(f"INSERT INTO unindexed (id) {numbers} SELECT i FROM n", MANY)
    yield started
    started.kill()


def by_api(server: Server) -> tuple[bool, list[str], str]:
    url, params = f"{server.url}/api/v1/search", {"q": "quagga"}
    body = httpx2.get(url, params=params, headers=server.headers, timeout=20).json()
    return body["partial"], body["missing"], body["items"][0]["text"]


def by_agentops(server: Server) -> tuple[bool, list[str], str]:
    url, params = f"{server.url}/agentops/search", {"q": "quagga", "project": "ops"}
    answer = httpx2.get(url, params=params, headers=server.headers, timeout=20)
    missing = answer.headers.get("X-Partial", "").split()
    return bool(missing), missing, answer.json()[0]["content"]


def by_mcp(server: Server) -> tuple[bool, list[str], str]:
    token = server.headers["Authorization"].removeprefix("Bearer ")

    async def ask() -> dict[str, Any]:
        async with client(server, token) as asked:
            return await call(asked, "mem_search", query="quagga", project="ops")

    found = asyncio.run(ask())
    return found["partial"], found["missing"], json.dumps(found["results"])


def by_session(server: Server) -> tuple[bool, list[str], str]:
    async def ask() -> tuple[Any, str]:
        async with Database(sqlite_url(Path(server.home.path) / "lamplighter.db")) as db:
            found = await used(box(db, await opened(db)), "mem_search", query="quagga")
            return found.structured, found.text

    found, text = asyncio.run(ask())
    assert "Not searched in time" in text
    return found["partial"], found["missing"], text


def by_command(server: Server) -> tuple[bool, list[str], str]:
    with TemporaryDirectory() as there, pytest.MonkeyPatch.context() as patch:
        server.home.write("VACUUM INTO ?", f"{there}/lamplighter.db")
        patch.setattr(queries, "CATCHING_SECONDS", 0.0)  # a person waits for longer
        env = {"LAMPLIGHTER_HOME": there, "LAMPLIGHTER_VECTORS": "off"}
        words, body = (
            CliRunner().invoke(search, ["quagga", *each], env=env).stdout
            for each in ((), ("--json",))
        )
    assert "Not searched in time" in words
    return json.loads(body)["partial"], json.loads(body)["missing"], words


@pytest.mark.parametrize("interface", [by_api, by_agentops, by_mcp, by_session, by_command])
def test_unindexed_rows_are_reported(busy: Server, interface: Any) -> None:
    partial, missing, text = interface(busy)

    assert (partial, missing) == (True, ["unindexed"])
    assert "quagga" in text
