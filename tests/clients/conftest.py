"""A real server, and tokens that it knows."""

from collections.abc import Iterator

import pytest

from living import Home, Server

SETTINGS = '[agents.hermes]\nproject = "shop"\n[agents.quiet]\nauto_save = false\n'
DECLARED = "services:\n  web:\n    checks: [{name: port, tcp: 127.0.0.1:9}]\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = Home(tmp_path_factory.mktemp("clients") / "home")
    (home.path / "lamplighter.toml").write_text(SETTINGS)
    home.services.write_text(DECLARED)
    started = Server(home)
    yield started
    started.kill()


@pytest.fixture(scope="module")
def tokens(server: Server) -> dict[str, str]:
    """Return a token of each kind."""
    wanted = {
        "hermes": ("--agent", "Hermes"),
        "quiet": ("--agent", "quiet"),
        "ann": ("--scope", "knowledge:write"),
        "reader": ("--scope", "knowledge:read"),
        "events": ("--scope", "events:write"),
        "all": ("--scope", "admin"),
    }
    made = {name: server.home.ask("token", "create", *words) for name, words in wanted.items()}
    assert [each.stderr for each in made.values() if each.returncode] == []
    return {name: each.stdout.strip() for name, each in made.items()}
