"""A real server, and its tokens."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from living import Home, Server

SETTINGS = '[agents.hermes]\nproject = "shop"\n[agents.quiet]\nauto_save = false\n'
DECLARED = "services:\n  web:\n    checks: [{name: port, tcp: 127.0.0.1:9}]\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # pages are written in the background, and tests compare all tables before and after a call
    home = Home(tmp_path_factory.mktemp("clients") / "home", {"LAMPLIGHTER_NOTEBOOK": "no"})
    (home.path / "lamplighter.toml").write_text(SETTINGS)
    home.services.write_text(DECLARED)
    started = Server(home)
    yield started
    started.kill()


@pytest.fixture(scope="module")
def tokens(server: Server) -> dict[str, str]:
    """Return a token of each kind."""
    wanted: dict[str, dict[str, Any]] = {
        "hermes": {"scopes": ["knowledge:write"], "agent": "Hermes"},
        "quiet": {"scopes": ["knowledge:write"], "agent": "quiet"},
        "ann": {"scopes": ["knowledge:write"]},
        "docs": {"scopes": ["knowledge:write"], "agent": "docs"},
        "reader": {"scopes": ["knowledge:read"]},
        "events": {"scopes": ["events:write"]},
        "all": {"scopes": ["admin"]},
    }
    url, shown = f"{server.url}/api/v1/tokens", server.headers
    made = {name: httpx2.post(url, json=each, headers=shown) for name, each in wanted.items()}
    assert [each.text for each in made.values() if each.status_code != 201] == []
    return {name: str(each.json()["token"]) for name, each in made.items()}
