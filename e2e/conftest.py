"""A real browser on the real product; every console error fails the test."""

import shutil
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Playwright,
    Response,
    expect,
    sync_playwright,
)

import authorities  # noqa: F401 - read once
import run_files
from app import App
from chromium import ARGUMENTS, executable
from lamplighter.repository.upkeep import migrate
from postgres_server import PostgresServer

# What a browser says of a server that is gone for a moment is no error of ours.
AWAY = (
    *("net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET"),
    *("net::ERR_CONNECTION_CLOSED", "net::ERR_SOCKET_NOT_CONNECTED", "net::ERR_EMPTY_RESPONSE"),
    *("net::ERR_INCOMPLETE_CHUNKED", "net::ERR_INTERNET_DISCONNECTED"),
    "net::ERR_CONTENT_LENGTH_MISMATCH",  # a server that is killed during an answer
)

# Pages of a test live for seconds: to optimize their code takes longer than to run it.
SHORT_LIVED = "--js-flags=--no-maglev --no-turbofan"
WAIT_MS = 30_000
"""The browser's timeout on a loaded machine; benchmarks/ measure the speed of the app."""
expect.set_options(timeout=WAIT_MS)

REFUSED = "the server responded with a status of"  # looked at in the answers themselves


RUN_DIRECTORY = run_files.make()
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record which tests failed: their last screenshot is stored."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def pytest_unconfigure() -> None:
    """Remove the sockets of all homes."""
    shutil.rmtree(RUN_DIRECTORY, ignore_errors=True)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    arguments = [*ARGUMENTS, SHORT_LIVED]
    browser = playwright.chromium.launch(executable_path=executable(), args=arguments)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server with a database at the newest revision, as a template."""
    server = PostgresServer()
    try:
        with ThreadPoolExecutor(1) as aside:  # the browser's own loop runs in this thread
            aside.submit(migrate.upgrade, server.create("migrated")).result(timeout=120)
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Return where the app stores its rows: in its home, or on a PostgreSQL server."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield {}
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    yield {"LAMPLIGHTER_DATABASE_URL": postgres.create("lamplighter", "migrated")}
    postgres.drop("lamplighter")


@pytest.fixture
def app(tmp_path: Path, database: dict[str, str], request: pytest.FixtureRequest) -> Iterator[App]:
    alone = request.node.get_closest_marker("web_alone") is not None
    started = App(tmp_path / "home", env=database).start(*(("web",) if alone else ()))
    yield started
    started.stop()


@pytest.fixture
def expected() -> set[int]:
    """Return the HTTP statuses that a test provokes on purpose."""
    return set()


@pytest.fixture
def page(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest, expected: set[int]
) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    if "app" in request.fixturenames:
        request.getfixturevalue("app").log_in(page)
    wrong: list[str] = []

    def heard(said: ConsoleMessage) -> None:
        known = any(away in said.text for away in AWAY) or REFUSED in said.text
        if said.type == "error" and not known:
            wrong.append(said.text)

    def answered(answer: Response) -> None:
        if answer.status >= 400 and answer.status not in expected:
            wrong.append(f"{answer.status} {answer.request.method} {answer.url}")

    page.on("console", heard)
    page.on("response", answered)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    if request.node.stash.get(FAILED, False):
        page.screenshot(path=str(tmp_path / "end.png"))
    page.evaluate("0")  # what the page said before has been heard
    context.close()
    assert wrong == [], f"the console of {request.node.name}"
