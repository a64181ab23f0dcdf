"""A home for real sessions, and its server."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from living import Home, Server


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a home to which a module's tests add their own data."""
    started = Server(Home(tmp_path_factory.mktemp("spec") / "home"))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as asking:
        yield asking
