"""Ten tasks of an operator, each from the overview in at most four clicks."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from check_results import store_results
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.repository.store import driver

SERVICES = """
services:
  jellyfin:
    checks:
      - tcp: 127.0.0.1:9
    actions:
      - restart: [docker, restart, jellyfin]
  disk:
    checks:
      - disk: /
        free: 1%
        warn: 1%
"""
MOST = 4
COUNT = """addEventListener("click", (event) => {
  const clicks = Number(sessionStorage.getItem("clicks")) + Number(event.isTrusted)
  sessionStorage.setItem("clicks", String(clicks))
}, true)"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(SERVICES)
    started = App(home, env={"LAMPLIGHTER_WEBHOOK_TOKEN": "monitors"}).start("web")
    yield started
    started.stop()


def fails(app: App, service: str) -> int:
    alert = {"service": service, "title": "is down", "id": service, "severity": "critical"}
    app.post("/api/v1/webhooks/kuma", alert)
    return int(app.get("/api/v1/incidents")["items"][0]["id"])


@contextmanager
def clicks(page: Page, app: App, exactly: int) -> Iterator[None]:
    """Begin on the overview, and count the clicks until the answer is visible."""
    page.goto(f"{app.url}/overview")
    expect(page.get_by_role("link", name="jellyfin", exact=True).first).to_be_visible()
    page.evaluate("sessionStorage.setItem('clicks', '0')")
    yield
    assert int(page.evaluate("sessionStorage.getItem('clicks')")) == exactly <= MOST


def slower_than_last_week(app: App) -> None:
    """Store results of jellyfin: 20 ms a week ago, 50 ms since then."""
    now, hour = datetime.now(UTC), timedelta(hours=1)
    took = [(timedelta(days=10), 20.0), (timedelta(days=1), 50.0)]
    runs = [
        CheckRun(
            service="jellyfin",
            check="tcp",
            kind="tcp",
            at=now - age + n * hour,
            state=PointState.PASSED,
            latency_ms=ms,
        )
        for age, ms in took
        for n in range(20)
    ]
    store_results(app.home, runs)


def investigated_with(app: App, memory: str, incident: int) -> None:
    """Let a session with this memory in its prompt investigate an incident and end."""
    body = {"category": "remediation", "service": "jellyfin", "observation": memory}
    app.post("/api/v1/memories", body)
    app.start("supervisor")
    app.ends()
    deadline = time.monotonic() + 30
    while not app.get(f"/api/v1/incidents/{incident}")["memories_used"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    app.kill("supervisor")


def to_service(page: Page, name: str) -> None:
    part = page.get_by_role("region", name="Services")
    part.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_each_answer_takes_an_operator_four_clicks_at_most(page: Page, app: App) -> None:
    repaired = fails(app, "disk")
    app.post(f"/api/v1/incidents/{repaired}", {"outcome": "repaired_by_person"}, method="PATCH")
    with closing(driver.connect(str(app.home / "lamplighter.db"))) as connection:
        sql = "UPDATE incidents SET outcome = 'repaired', action = 'restart' WHERE id = ?"
        connection.execute(sql, (repaired,))
    failing = fails(app, "jellyfin")
    slower_than_last_week(app)
    investigated_with(app, "A restart fixes refused connections", failing)
    page.add_init_script(COUNT)

    with clicks(page, app, 1):  # why did it restart
        part = page.get_by_role("region", name="Repaired in the last 24 h")
        part.get_by_role("link", name="disk").click()
        expect(page.get_by_role("heading", name=f"Incident {repaired}")).to_be_visible()
        expect(page.get_by_text("repaired by restart after").first).to_be_visible()

    with clicks(page, app, 2):  # is it slower than last week
        to_service(page, "jellyfin")
        page.get_by_role("button", name="7 d").click()
        answer = "Median 50 ms, 20 ms in the 7 d before: 150% slower."
        expect(page.get_by_text(answer)).to_be_visible()

    with clicks(page, app, 1):  # what happened last night
        page.get_by_role("navigation").first.locator("a[href='/incidents']").click()
        expect(page.get_by_role("region", name="Incidents, newest first")).to_contain_text("disk")
        expect(page.get_by_text("repaired by restart after").first).to_be_visible()

    with clicks(page, app, 2):  # acknowledge
        page.locator(f"main a[href='/incidents/{failing}']").first.click()
        page.get_by_role("button", name="Acknowledge").click()
        expect(page.get_by_role("region", name="Timeline")).to_contain_text("Acknowledged")

    with clicks(page, app, 1):  # which memories made it act
        page.locator(f"main a[href='/incidents/{failing}']").first.click()
        used = page.get_by_role("region", name="Memories in the prompts")
        expect(used).to_contain_text("A restart fixes refused connections")

    with clicks(page, app, 1):  # what would it do next time
        to_service(page, "jellyfin")
        expect(page.get_by_role("region", name="Actions")).to_contain_text("0 of 2")
        believed = page.get_by_role("region", name="Memories")
        expect(believed).to_contain_text("A restart fixes refused connections")


def test_each_change_takes_an_operator_four_clicks_at_most(page: Page, app: App) -> None:
    page.add_init_script(COUNT)

    with clicks(page, app, 2):  # pause one
        to_service(page, "jellyfin")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()

    with clicks(page, app, 4):  # silence for maintenance
        to_service(page, "disk")
        page.get_by_role("link", name="Edit", exact=True).click()
        form = page.get_by_role("form", name="Service")
        form.get_by_role("button", name="Add maintenance window").click()
        window = form.get_by_role("group", name="Maintenance window 1")
        window.get_by_label("Opens at").fill("0 3 * * sun")
        window.get_by_label("Lasts").fill("2h")
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("disk saved.")).to_be_visible()

    with clicks(page, app, 4):  # add a service
        page.get_by_role("navigation").first.locator("a[href='/settings']").click()
        page.get_by_role("link", name="Edit services").first.click()
        page.get_by_role("link", name="Add service").click()
        form = page.get_by_role("form", name="Service")
        form.get_by_label("Name", exact=True).first.fill("root")
        form.get_by_label("Kind").select_option("disk")
        form.get_by_label("Path").fill("/")
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("root saved.")).to_be_visible()

    with clicks(page, app, 3):  # change the notification address
        page.get_by_role("navigation").first.locator("a[href='/settings']").click()
        page.get_by_label("Find a setting").fill("notification targets")
        page.get_by_role("button", name="Change LAMPLIGHTER_NOTIFY", exact=True).click()
        page.get_by_label("New value").fill("json://127.0.0.1:9/hook")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("LAMPLIGHTER_NOTIFY saved.")).to_be_visible()
