"""A real server on a free port, and a client for it."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from route_requests import Asking

from living import Home, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start one server for all tests that tolerate each other's rows."""
    home = Home(
        tmp_path_factory.mktemp("api") / "home",
        {
            "LAMPLIGHTER_WEBHOOK_TOKEN": "what-monitors-show",
            "LAMPLIGHTER_STATUS_SERVICES": "jellyfin=Films",
        },
    )
    home.services.write_text(
        "services:\n"
        "  jellyfin:\n    checks: [{name: web, http: http://127.0.0.1:9/}]\n"
        "  WireGuard:\n    checks: [{name: port, tcp: 127.0.0.1:9}]\n"
        "  backup:\n    checks: [{name: nightly, push: {every: 1d, grace: 1h}}]\n"
    )
    started = Server(home)
    yield started
    started.kill()


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as asking:
        yield asking


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """Start a server that no other test uses."""
    started = Server(Home(tmp_path / "home"))
    yield started
    started.kill()


@pytest.fixture
def own_client(own_server: Server) -> Iterator[httpx2.Client]:
    headers = own_server.headers
    with httpx2.Client(base_url=own_server.url, headers=headers, timeout=20) as asking:
        yield asking


@pytest.fixture(scope="session")
def asking(server: Server, client: httpx2.Client) -> Iterator[Asking]:
    with server.home.reader.kept():
        yield Asking(server.home, client)
