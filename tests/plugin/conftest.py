"""A real server for all tests of the plugin, and a developer's project for each."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from developer_project import Desk

from living import Home, Server

RULES = """
[[agents.claude-code.save_rules]]
tool = "bash"
match_output = "fatal|panic"
type = "bugfix"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start one server for all tests, each of which has its own projects there."""
    home = Home(tmp_path_factory.mktemp("plugin") / "home")
    (home.path / "lamplighter.toml").write_text(RULES)
    started = Server(home)
    yield started
    started.kill()


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    """Return a token created as docs/how-to/claude-code.md describes."""
    words = ("token", "create", "--scope", "knowledge:write", "--name", "claude-code")
    made = server.home.ask(*words)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


@pytest.fixture(scope="session")
def tools(server: Server, token: str) -> None:
    """Let the server load its tools: on a busy machine the first request takes long."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    about = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    given = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    answer = httpx2.post(f"{server.url}/mcp", headers=headers, json=given, timeout=60)
    assert answer.status_code == 200, answer.text


@pytest.fixture
def desk(tmp_path: Path, server: Server, token: str) -> Desk:
    """Return a developer's project whose plugin is configured for the server."""
    return Desk(tmp_path / "desk", server.url, token, name=f"lantern-{tmp_path.name[-9:]}")
