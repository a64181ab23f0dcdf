"""A service and its results over time: read, followed, paused, and compared between incidents."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from app import App
from check_results import store_results
from lamplighter.domain.services.series import CheckRun, PointState
from test_phone import picture
from test_round import RULES, SHIFTS, violations

MINUTE = timedelta(minutes=1)
SERVICES = """
services:
  jellyfin:
    group: media
    description: Films for the house
    depends_on: [postgres]
    checks:
      - tcp: 127.0.0.1:9
    actions:
      - restart: [docker, restart, jellyfin]
  postgres:
    group: storage
    checks:
      - tcp: 127.0.0.1:10
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(SERVICES)
    started = App(home, env={"LAMPLIGHTER_WEBHOOK_TOKEN": "monitors"}).start("web")
    yield started
    started.stop()


def results(app: App, *states: str, service: str = "jellyfin", end: datetime | None = None) -> None:
    """Store one result a minute, the last of them now."""
    now = end or datetime.now(UTC)
    runs = [
        CheckRun(
            service=service,
            check="tcp",
            kind="tcp",
            at=now - n * MINUTE,
            state=PointState(state),
            latency_ms=None if state == "failed" else 20.0 + n % 7,
            detail="connection refused" if state == "failed" else "",
        )
        for n, state in zip(range(len(states) - 1, -1, -1), states, strict=True)
    ]
    store_results(app.home, runs)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_when_the_latency_of_a_service_loads(
    page: Page, app: App, width: int
) -> None:
    results(app, *["passed"] * 30)
    page.set_viewport_size({"width": width, "height": 1200})
    waiting: list[Route] = []
    page.route(re.compile(r"/latency\?"), lambda each: waiting.append(each))
    page.goto(f"{app.url}/services/jellyfin")
    below = page.get_by_role("heading", name="Incidents")
    expect(page.get_by_text("Loading latency")).to_be_visible()
    expect(below).to_be_visible()
    before = below.bounding_box()

    for each in waiting:
        each.continue_()

    expect(page.get_by_text(re.compile(r"^Median \d"))).to_be_visible()
    expect(page.locator(".time-chart")).to_be_visible()
    assert below.bounding_box() == before


def test_a_service_is_read_from_the_overview_by_keyboard(page: Page, app: App) -> None:
    results(app, *["passed"] * 20, "failed", *["passed"] * 9)
    app.post(
        "/api/v1/memories",
        {"category": "timing", "service": "jellyfin", "observation": "Takes 60s to start"},
    )
    page.add_init_script(SHIFTS)
    page.goto(f"{app.url}/overview")
    row = page.get_by_role("list", name="media: 1 service").get_by_role("listitem")
    expect(row).to_contain_text("96.67%")
    strip = row.get_by_role("img", name="1 of the last 30 check results failed")
    strip.focus()
    page.keyboard.press("ArrowLeft")
    expect(row).to_contain_text("tcp passed, 20 ms")

    page.evaluate("window.shifted = 0; window.moved = []")  # no supervisor: the overview says so
    row.get_by_role("link", name="jellyfin").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{app.url}/services/jellyfin")
    expect(page.get_by_role("heading", name="jellyfin")).to_be_focused()
    # a service without older results
    expect(
        page.get_by_role("img", name="Last 1 h: 30 results, 1 failed, median now")
    ).to_be_visible()
    page.get_by_role("button", name="24 h").click()
    expect(page).to_have_url(f"{app.url}/services/jellyfin?period=24h")
    chart = page.get_by_role("img", name="Last 24 h: 30 results, 1 failed, median now")
    expect(chart).to_be_visible()
    chart.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("95% under")).to_be_visible()

    page.get_by_role("button", name="1 h", exact=True).click()
    expect(page).to_have_url(f"{app.url}/services/jellyfin?period=1h")
    page.get_by_text("Show as a table").click()
    table = page.get_by_role("region", name="Latency by time").get_by_role("row")
    expect(table.nth(28)).to_be_visible()
    expect(page.get_by_role("region", name="Memories")).to_contain_text("Line 1 of 1")
    expect(page.get_by_role("region", name="Actions")).to_contain_text("0 of 2 restarts")
    assert not violations(page, RULES)
    assert page.evaluate("window.shifted < 0.01 ? [] : window.moved") == []
    page.get_by_role("link", name="postgres").click()
    expect(page.get_by_role("heading", name="postgres")).to_be_focused()
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_role("heading", name="Edit postgres")).to_be_visible()


def test_new_results_and_a_pause_appear_live(page: Page, app: App) -> None:
    results(app, *["passed"] * 5, service="postgres", end=datetime.now(UTC) - 2 * MINUTE)
    page.goto(f"{app.url}/services/postgres")
    expect(page.get_by_role("img", name="The last 5 check results passed")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()

    results(app, "failed", service="postgres")
    expect(page.get_by_role("img", name="1 of the last 6 check results failed")).to_be_visible()
    incidents = page.get_by_role("region", name="Incidents").get_by_role("listitem")
    expect(incidents).to_have_count(1)

    page.get_by_label("Pause for").select_option("8 h")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused until")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_focused()
    page.keyboard.press("z")
    expect(page.get_by_text("Paused until")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()

    page.get_by_role("link", name="All incidents").click()
    listed = page.get_by_role("region", name="Incidents, newest first").get_by_role("listitem")
    expect(page).to_have_url(f"{app.url}/incidents?service=postgres")
    expect(listed).to_have_count(1)
    picture(page, "incidents-of-a-service")
    page.get_by_role("button", name="Remove the filter for postgres").click()
    expect(page).to_have_url(f"{app.url}/incidents")


def test_an_incident_has_one_timeline_next_to_that_of_the_previous_one(
    page: Page, app: App
) -> None:
    results(app, *["passed"] * 20, service="postgres")
    for number in (1, 2):
        alert = {"service": "postgres", "title": "is down", "id": f"p{number}"}
        app.post("/api/v1/webhooks/kuma", {**alert, "severity": "critical"})
        if number == 1:
            closed = {"outcome": "repaired_by_person"}
            app.post("/api/v1/incidents/1", closed, method="PATCH")
    page.goto(f"{app.url}/incidents/2")

    axis = page.get_by_role("img", name="Latency of postgres and timeline: open, started")
    expect(axis).to_contain_text("Failing")
    axis.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text(" · 20 ms")).to_be_visible()
    table = page.get_by_role("region", name="Compared with the previous incident")
    expect(table.get_by_role("row", name="Outcome")).to_contain_text("repaired by a person")
    expect(table.get_by_role("row", name="Time to recover")).to_contain_text("–")
    expect(table.get_by_role("row", name="Memories confirmed")).to_contain_text("0")
    assert not violations(page, RULES)

    table.get_by_role("link", name="Incident 1").click()
    expect(page).to_have_url(f"{app.url}/incidents/1")
    expect(page.get_by_role("img", name="timeline: repaired by a person")).to_be_visible()
    page.get_by_role("region", name="Services").get_by_role("link", name="postgres").click()
    expect(page).to_have_url(f"{app.url}/services/postgres")


def test_an_undeclared_service_shows_a_message(page: Page, app: App, expected: set[int]) -> None:
    expected.add(404)
    page.goto(f"{app.url}/services/gone")

    expect(page.get_by_role("heading", name="Service not found")).to_be_visible()
    page.get_by_role("link", name="All services").click()
    expect(page).to_have_url(f"{app.url}/overview")
