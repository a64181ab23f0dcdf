"""The app's page at every address outside the API, with and without a build."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
import uvicorn

from lamplighter.api.app import APP_MISSING, create_app
from lamplighter.config.settings import read_settings
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.mcp.endpoint import Endpoint
from lamplighter.serve import web as process
from lamplighter.serve.commands import access
from lamplighter.serve.configuration import build_configuration
from living import Home

PAGES = ("/", "/memories", "/sessions/7", "/deep/er/address")
INDEX = "<!doctype html><title>Lamplighter</title>"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[httpx2.Client]:
    """Serve an app in tmp_path/web, from a thread of this process."""
    home = Home(tmp_path / "home")
    settings = read_settings({"LAMPLIGHTER_HOME": str(home.path)})
    access.prepare(settings)
    listening = process.bind("127.0.0.1", 0)
    active = build_configuration(settings, builtin_lexicon())
    app = create_app(
        lambda: process._open_context(settings, active, Endpoint()),
        web_directory=tmp_path / "web",
    )
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    with closing(listening):
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        port = listening.getsockname()[1]
        url, headers = f"http://127.0.0.1:{port}", home.way_in
        with httpx2.Client(base_url=url, headers=headers, timeout=20) as client:
            yield client
        server.should_exit = True
        thread.join(20)
    assert not thread.is_alive()


@pytest.fixture
def built(tmp_path: Path) -> Path:
    web = tmp_path / "web"
    (web / "assets").mkdir(parents=True)
    (web / "index.html").write_text(INDEX)
    (web / "icon.svg").write_text("<svg/>")
    (web / "assets" / "index-1a2b.js").write_text("export {}")
    (tmp_path / "secret.txt").write_text("secret")
    return web


@pytest.mark.parametrize("path", PAGES)
def test_every_address_of_the_app_returns_its_page(
    built: Path, serving: httpx2.Client, path: str
) -> None:
    answer = serving.get(path)

    assert (answer.status_code, answer.text) == (200, INDEX)
    assert answer.headers["cache-control"] == "no-cache"
    assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", PAGES)
def test_a_missing_app_build_returns_503_with_an_explanation(
    serving: httpx2.Client, path: str
) -> None:
    answer = serving.get(path)

    assert (answer.status_code, answer.text) == (503, APP_MISSING)
    assert serving.get("/api/v1/memories").status_code == 200


def test_files_of_the_app_have_cache_headers(built: Path, serving: httpx2.Client) -> None:
    icon, script = serving.get("/icon.svg"), serving.get("/assets/index-1a2b.js")

    assert (icon.text, icon.headers["cache-control"]) == ("<svg/>", "no-cache")
    assert script.text == "export {}"
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/assets/%2e%2e%2f%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
    ],
)
def test_a_path_traversal_serves_no_file_outside_the_app(
    built: Path, serving: httpx2.Client, path: str
) -> None:
    with socket.create_connection((serving.base_url.host, serving.base_url.port or 0), 20) as raw:
        way_in = serving.headers["authorization"]
        heads = f"Host: 127.0.0.1\r\nAuthorization: {way_in}\r\nConnection: close"
        raw.sendall(f"GET {path} HTTP/1.1\r\n{heads}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))

    assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404"))
    assert b"secret" not in answer


@pytest.mark.parametrize("path", [f"/{'a' * 300}.txt", "/nul%00.txt", "/odd%ff.txt", "/.", "/..x."])
def test_an_address_that_is_not_a_valid_file_name_returns_the_page(
    built: Path, serving: httpx2.Client, path: str
) -> None:
    assert serving.get(path).text == INDEX


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/v1/memories/x", "/api/v2"])
def test_an_unknown_api_path_returns_a_problem_not_the_page(
    built: Path, serving: httpx2.Client, path: str, method: str
) -> None:
    answer = serving.request(method, path)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == f"{path} not found."


def test_a_missing_asset_returns_404_not_the_page(built: Path, serving: httpx2.Client) -> None:
    assert serving.get("/assets/index-old.js").status_code == 404
