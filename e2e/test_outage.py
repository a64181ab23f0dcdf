"""Many services fail within seconds: nothing moves under the operator's eyes."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from lamplighter.repository.store import driver
from test_no_jump import WIDTHS
from test_phone import picture
from test_round import SHIFTS, looked_at

COUNT = 12


@pytest.fixture
def listeners() -> Iterator[list[socket.socket]]:
    found = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(COUNT)]
    yield found
    for each in found:
        each.close()


@pytest.fixture
def app(tmp_path: Path, listeners: list[socket.socket]) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    lines = ["services:"]
    for number, each in enumerate(listeners):
        check = f"{{tcp: '127.0.0.1:{each.getsockname()[1]}', interval: 1s, retries: 0}}"
        lines.append(f"  n{number:02}:\n    checks:\n      - {check}")
    (home / "services.yaml").write_text("\n".join(lines) + "\n")
    started = App(home, env={"LAMPLIGHTER_CHECK_INTERVAL": "1"}).start()
    yield started
    started.stop()


def opened(page: Page, app: App, width: int) -> None:
    """Open the overview while all services are healthy, with no shift counted yet."""
    deadline = time.monotonic() + 60
    while app.get("/api/v1/overview")["counts"]["ok"] < COUNT:  # by name: one not checked is last
        assert time.monotonic() < deadline
        time.sleep(0.1)
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(SHIFTS)
    page.goto(f"{app.url}/overview")
    status = page.get_by_role("region", name="Status", exact=True)
    expect(status.get_by_text(f"All {COUNT} services are healthy.")).to_be_visible()
    expect(status.get_by_role("link", name="is running")).to_be_visible()
    page.wait_for_function("document.fonts.status === 'loaded'")
    page.wait_for_timeout(1_000)
    picture(page, f"overview-{width}-before")
    page.evaluate("window.shifted = 0, window.moved.length = 0")


def fail_all(listeners: list[socket.socket]) -> None:
    for each in listeners:
        each.shutdown(socket.SHUT_RDWR)  # the port stays bound, and refuses connections


def leave_to_people(app: App) -> None:
    """Store that each service needs a person, as when all of their sessions failed."""
    columns = "(session_id, tier, service, reason, state, created_at)"
    values = "VALUES (1, 3, ?, 'Nothing helped', 'person', '2026-01-01T00:00:00Z')"
    with closing(driver.connect(str(app.home / "lamplighter.db"))) as connection:
        services = [(f"n{number:02}",) for number in range(COUNT)]
        connection.executemany(f"INSERT INTO escalations {columns} {values}", services)
        connection.commit()


def unmoved(page: Page, name: str) -> None:
    picture(page, name)
    assert page.evaluate("window.shifted") < 0.01, page.evaluate("window.moved")


@WIDTHS
def test_an_outage_does_not_move_the_overview(
    page: Page, app: App, listeners: list[socket.socket], width: int
) -> None:
    opened(page, app, width)
    incidents = page.get_by_role("region", name="Open incidents")
    expect(incidents).to_contain_text("No open incidents.")
    services = page.get_by_role("list", name="Services").get_by_role("listitem")
    order = page.get_by_role("button", name="Order by severity")

    fail_all(listeners[-1:])

    expect(services.last).to_contain_text("failing")
    expect(order).to_be_visible()
    unmoved(page, f"overview-{width}-one")
    order.click()
    expect(services.first).to_contain_text(f"n{COUNT - 1:02}")
    expect(order).to_be_hidden()
    page.evaluate("window.shifted = 0, window.moved.length = 0")

    fail_all(listeners[:-1])

    expect(incidents.get_by_role("link", name=f"{COUNT - 1} more incidents")).to_be_visible()
    expect(page.get_by_title(f"All {COUNT} services are failing.")).to_be_visible()
    expect(incidents).to_contain_text(f"{COUNT - 1} critical")
    expect(incidents.get_by_role("listitem")).to_have_count(1)
    unmoved(page, f"overview-{width}-after")
    attention = page.get_by_role("region", name="Needs attention")
    leave_to_people(app)
    expect(attention.get_by_text(f"{COUNT} services need attention")).to_be_visible()
    unmoved(page, f"overview-{width}-attention")

    attention.get_by_role("button", name="Expand").click()
    expect(attention.get_by_role("button", name="Mark as handled: n")).to_have_count(COUNT)
    incidents.get_by_role("button", name="Expand").click()
    expect(incidents.get_by_role("listitem")).to_have_count(5)
    picture(page, f"overview-{width}-expanded")
    assert not looked_at(page, f"outage {width}")
    page.emulate_media(color_scheme="dark")
    picture(page, f"overview-{width}-dark")
    incidents.get_by_role("link", name=f"{COUNT - 5} more incidents").click()
    expect(page).to_have_url(f"{app.url}/incidents?state=open")


@WIDTHS
@pytest.mark.parametrize("reading", [False, True])
def test_an_outage_does_not_move_the_incidents(
    page: Page, app: App, listeners: list[socket.socket], width: int, reading: bool
) -> None:
    listeners[0].shutdown(socket.SHUT_RDWR)
    rows = page.get_by_role("region", name="Incidents, newest first").get_by_role("listitem")
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(SHIFTS)
    page.goto(f"{app.url}/incidents")
    expect(rows).to_have_count(1)
    first = rows.first.get_by_role("link")
    if reading:
        first.focus()
    page.wait_for_timeout(1_000)
    page.evaluate("window.shifted = 0, window.moved.length = 0")

    fail_all(listeners[1:])

    expect(page.get_by_role("status").get_by_text(f"{COUNT} open incidents")).to_be_visible()
    pill = page.get_by_role("button", name="new incidents")
    if reading:
        expect(pill).to_have_text(f"{COUNT - 1} new incidents")
        expect(rows).to_have_count(1)
        expect(first).to_be_focused()
        unmoved(page, f"incidents-{width}")  # at rest, a few new rows slide in
    if reading:
        pill.click()
    expect(rows.filter(has_text="open, started")).to_have_count(0)
    expect(rows.first).to_contain_text("open")
