"""The real CLI as a client of our memory: over HTTP with a token, and over standard input."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from real_cli import engine, task

from lamplighter.engines import Command, process
from lamplighter.engines.claude import SERVERS
from living import Home, Server
from messages_api import Asked, MessagesApi, Script, says, uses

SAVE = "mcp__lamplighter__mem_save"
SEARCH = "mcp__lamplighter__mem_search"
WAL = {
    "type": "decision",
    "title": "WAL mode for SQLite",
    "content": "WAL lets reads go on while one writes.",
}
RUN_SECONDS = 60


@dataclass
class Client:
    """A CLI that is set up as somebody's who uses our memory."""

    server: Server
    api: MessagesApi
    path: Path
    number: int = 0

    def token(self, *words: str) -> str:
        made = self.server.home.ask("token", "create", *words)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    async def run(self, script: Script, servers: dict[str, Any]) -> tuple[dict[str, Any], Asked]:
        """Run one session; returns what its first line tells, and what was asked last."""
        self.number += 1
        name = f"s{self.number}"
        self.api.scenarios[name] = script
        scratch = self.path / name
        scratch.mkdir()
        given = engine(self.api.url(name)).command(replace(task(self.number), scratch=str(scratch)))
        files = {**given.files, SERVERS: json.dumps({"mcpServers": servers}).encode()}
        output = scratch.with_suffix(".jsonl")
        await self._ended(replace(given, files=files), scratch, output)
        lines = [json.loads(each) for each in output.read_bytes().splitlines()]
        begun = next(each for each in lines if each.get("subtype") == "init")
        return begun, self.api.requests(name)[-1]

    async def _ended(self, command: Command, scratch: Path, output: Path) -> None:
        started = await process.start(
            command, session_id=self.number, output=output, scratch=scratch
        )
        try:
            await started.wait()
        finally:
            started.kill()
            await started.wait()

    def http(self, token: str, address: str = "/mcp") -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{self.server.url}{address}"
        return {"lamplighter": {"type": "http", "url": url, "headers": headers}}

    def stdio(self, token: str, *words: str) -> dict[str, Any]:
        env = {**self.server.home.env, "LAMPLIGHTER_TOKEN": token}
        argv = ["-m", "lamplighter", "mcp", *words]
        return {"lamplighter": {"command": sys.executable, "args": argv, "env": env}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    path = tmp_path_factory.mktemp("memory")
    server = Server(Home(path / "home"))
    with MessagesApi() as api:
        yield Client(server, api, path)
    server.kill()


async def test_try(client: Client) -> None:
    token = client.token("--agent", "hermes")
    for servers in (client.http(token), client.stdio(token)):
        begun, asked = await client.run(
            [
                uses(SAVE, WAL),
                uses(SEARCH, {"query": "sqlite"}),
                uses(SEARCH, {"query": 5}),
                says("done"),
            ],
            servers,
        )
        print(begun["mcp_servers"], begun["tools"])
        for each in asked.results:
            print(json.dumps(each)[:1500])
    for servers in (client.http("lamp_1_x"), client.stdio("lamp_1_x")):
        begun, asked = await client.run([says("done")], servers)
        print(begun["mcp_servers"], begun["tools"])
    assert 0
