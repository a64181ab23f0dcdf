"""A real server for all tests of the plugin, and a desk for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk

from living import Home, Server

RULES = """
[[agents.claude-code.save_rules]]
tool = "bash"
match_output = "fatal|panic"
type = "bugfix"
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start one server; tests have projects of their own in it."""
    home = Home(tmp_path_factory.mktemp("plugin") / "home")
    (home.path / "lamplighter.toml").write_text(RULES)
    started = Server(home)
    yield started
    started.kill()


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    """Return a token as docs/claude-code.md has one made."""
    words = ("token", "create", "--scope", "knowledge:write", "--name", "claude-code")
    made = server.home.ask(*words)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


@pytest.fixture
def desk(tmp_path: Path, server: Server, token: str) -> Desk:
    """Return a desk whose plugin knows the server."""
    return Desk(tmp_path / "desk", server.url, token, name=f"lantern-{tmp_path.name[-9:]}")
