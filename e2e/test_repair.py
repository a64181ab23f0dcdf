"""A failure, from an operator's view: found, investigated, repaired, and finally refused."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from lamplighter.repository.store import driver
from lamplighter.serve.demo.stage import free_ports

NOTE = "import sys; open(sys.argv[1], 'w').write('start\\n')"


@dataclass
class Small:
    """A real service on loopback, restarted when its action asks; `heals` or not."""

    directory: Path
    port: int = 0
    heals: bool = True
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port = free_ports(1)[0]
        os.mkfifo(self.fifo)
        threading.Thread(target=self._answer, daemon=True).start()

    @property
    def fifo(self) -> Path:
        return self.directory / "wishes"

    @property
    def yaml(self) -> str:
        action = json.dumps([sys.executable, "-c", NOTE, str(self.fifo)])
        return (
            "services:\n  films:\n    checks:\n"
            f"      - http: http://127.0.0.1:{self.port}/\n        retries: 0\n"
            f"    actions:\n      - restart: {action}\n        timeout: 20s\n        wait: 3s\n"
        )

    def start(self) -> None:
        program = (sys.executable, "-m", "lamplighter.serve.demo.service")
        self._running.append(
            subprocess.Popen([*program, str(self.port), str(os.getpid())], start_new_session=True)
        )

    def crash(self) -> None:
        while self._running:
            process = self._running.pop()
            process.kill()
            process.wait()

    def _answer(self) -> None:
        while True:
            with suppress(OSError), self.fifo.open() as wishes:
                wishes.read()
                if self.heals:
                    self.start()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    there = Small(tmp_path)
    there.start()
    yield there
    there.crash()


@pytest.fixture
def watched(tmp_path: Path, small: Small) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(small.yaml)
    env = {"LAMPLIGHTER_ENGINE": "probe", "LAMPLIGHTER_INTERVAL": "2s"}
    started = App(home, env).start()
    yield started
    started.stop()


def test_an_outage_and_its_repair_appear_without_a_reload(
    page: Page, watched: App, small: Small
) -> None:
    watched.log_in(page)
    page.goto(watched.url)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    services = page.get_by_role("list", name="Services")
    expect(services).to_contain_text("healthy", timeout=15_000)

    small.crash()

    expect(services).to_contain_text("1 of 2 restarts used", timeout=30_000)
    expect(services).to_contain_text("healthy", timeout=15_000)
    mended = next(each for each in watched.get("/api/v1/sessions?tier=3")["items"])
    chain = watched.get(f"/api/v1/sessions/{mended['id']}/chain")["items"]
    assert [(each["tier"], each["parent_id"]) for each in chain] == [
        (1, None),
        (2, chain[0]["id"]),
        (3, chain[1]["id"]),
    ]
    outcome = re.compile(r"repaired films in \d+ s")
    expect(page.get_by_role("list", name="Outcomes, last 24 hours")).to_contain_text(outcome)
    page.goto(f"{watched.url}/sessions?tier=3")
    expect(page.get_by_role("table").locator("td > .status")).to_have_text(outcome)
    page.goto(f"{watched.url}/sessions/{mended['id']}")
    expect(page.get_by_role("main").get_by_text(outcome).first).to_be_visible()
    told = page.get_by_role("region", name="Chain of sessions")
    expect(told.get_by_role("link", name=re.compile(f"#{chain[0]['id']}\\b"))).to_be_visible()
    expect(page.get_by_text(re.compile("Healthy again after")).first).to_be_visible()


def test_an_unrepairable_service_waits_for_a_person_who_may_reset_cooldowns(
    page: Page, watched: App, small: Small
) -> None:
    watched.log_in(page)
    page.goto(watched.url)
    small.heals = False

    small.crash()

    expect(page.get_by_text(re.compile(r"films needs attention"))).to_be_visible()
    expect(page.get_by_text("2 of 2 restarts used")).to_be_visible()
    small.start()  # somebody mends it, and says so
    expect(page.get_by_role("list", name="Services")).to_contain_text("healthy", timeout=15_000)
    expect(page.get_by_text("Nothing needs your attention.")).to_be_visible(timeout=15_000)


def test_a_case_marked_as_handled_is_no_longer_open(page: Page, watched: App) -> None:
    asked = "INSERT INTO escalations (session_id, tier, service, reason, state, created_at)"
    with closing(driver.connect(str(watched.home / "lamplighter.db"))) as connection:
        connection.execute("INSERT INTO sessions (started_at) VALUES ('2026-01-01T00:00:00Z')")
        values = "VALUES (1, 4, 'elsewhere', 'Nothing helped', 'person', '2026-01-01T00:00:00Z')"
        connection.execute(f"{asked} {values}")
    watched.log_in(page)
    page.goto(watched.url)
    expect(page.get_by_text(re.compile("elsewhere needs attention"))).to_be_visible()

    page.set_viewport_size({"width": 320, "height": 700})
    page.get_by_role("main").get_by_role("link", name="#1", exact=True).click(trial=True)
    page.get_by_role("button", name="Mark as handled: elsewhere").click()

    expect(page.get_by_text("Nothing needs your attention.")).to_be_visible()


def test_the_focus_stays_in_the_list_of_cases(page: Page, app: App) -> None:
    with closing(driver.connect(str(app.home / "lamplighter.db"))) as connection:
        connection.execute("INSERT INTO sessions (started_at) VALUES ('2026-01-01T00:00:00Z')")
        for service in ("elsewhere", "nowhere"):
            connection.execute(
                "INSERT INTO escalations (session_id, tier, service, reason, state, created_at)"
                " SELECT max(id), 4, ?, 'Nothing helped', 'person', '2026-01-01T00:00:00Z'"
                " FROM sessions",
                (service,),
            )
    page.goto(app.url)
    for service in ("elsewhere", "nowhere"):
        page.get_by_role("button", name=f"Mark as handled: {service}").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"Marked as handled: {service}.")).to_be_visible()
        expect(page.get_by_role("heading", name="Needs attention")).to_be_focused()


def test_a_cooldown_is_reset_manually(page: Page, watched: App, small: Small) -> None:
    watched.log_in(page)
    page.goto(f"{watched.url}/cooldowns")
    expect(page.get_by_text("0 of 2 restarts used")).to_be_visible(timeout=15_000)

    small.crash()

    expect(page.get_by_text("1 of 2 restarts used")).to_be_visible()
    expect(page.get_by_text("Healthy again")).to_be_visible()
    page.get_by_role("button", name="Reset restart of films").click()
    expect(page.get_by_text("0 of 2 restarts used")).to_be_visible()
    [use] = watched.get("/api/v1/cooldowns/uses")["items"]
    assert use["cleared_by"] in ("operator", "healthy")
