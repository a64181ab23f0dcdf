"""Rows are written while the connection is lost, and every tab catches up exactly."""

import re
import signal
import time
from contextlib import suppress

from playwright.sync_api import Page, TimeoutError, expect

from app import App

TABS = 4
PATIENCE_SECONDS = 60.0
PAUSED = re.compile(r"Live updates lost \d+ s ago. Showing data from \d\d:\d\d:\d\d \S+.")
OFFLINE = re.compile(r"This browser has been offline for \d+ s. Showing data from \d\d:\d\d.")


def learn(app: App, *numbers: int) -> None:
    app.says("\n".join(f"[MEMORY:maintenance:host{n}] Chore {n:02} on Sundays" for n in numbers))


def shown(tab: Page) -> list[str]:
    """Return the texts of a tab's rows, one per line, including those behind its pill."""
    pill = tab.get_by_role("button", name=re.compile(r"\d+ new memor"))
    with suppress(TimeoutError):  # its rows may have come in before the click
        if pill.is_visible():
            tab.bring_to_front()  # a click waits for a frame, and a tab behind another has few
            pill.click(timeout=5_000)
    rows = tab.get_by_role("row").all_inner_texts()
    found = [re.search(r"Chore \d\d on Sundays", row) for row in rows]
    return sorted(each[0] for each in found if each)


def held(app: App, count: int) -> list[str]:
    """Return the rows of the server, once it has this number of rows."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        items = app.get("/api/v1/memories?limit=200")["items"]
        if len(items) >= count or time.monotonic() > deadline:
            return sorted(row["observation"] for row in items)
        time.sleep(0.05)


def wait_until_equal(tabs: list[Page], app: App, count: int) -> None:
    """Fail unless each tab eventually shows exactly the rows of the server."""
    rows = held(app, count)
    assert len(rows) == count
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(shown(tab) != rows for tab in tabs) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [shown(tab) for tab in tabs] == [rows] * len(tabs)


def tabs_of(page: Page, app: App) -> list[Page]:
    tabs = [page, *(page.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs:
        tab.goto(f"{app.url}/memories")
        expect(tab.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    return tabs


def test_every_tab_matches_the_server_after_a_kill_during_writes(page: Page, app: App) -> None:
    learn(app, 1, 2)
    tabs = tabs_of(page, app)
    expect(page.get_by_role("row", name=re.compile("Chore 02"))).to_be_visible()

    learn(app, 3, 4, 5)
    app.kill("web")
    learn(app, 6, 7, 8)
    for tab in tabs:
        expect(tab.get_by_text(PAUSED)).to_be_visible()
    learn(app, 9, 10)
    app.start("web")
    learn(app, 11, 12)
    wait_until_equal(tabs, app, 12)
    for tab in tabs:
        expect(tab.get_by_text(PAUSED)).to_have_count(0)


def test_a_hanging_server_is_reported_too(page: Page, app: App) -> None:
    page.goto(f"{app.url}/memories")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    pid = app.running["web"]

    pid.send_signal(signal.SIGSTOP)
    try:
        expect(page.get_by_text(PAUSED)).to_be_visible()
    finally:
        pid.send_signal(signal.SIGCONT)

    expect(page.get_by_text(PAUSED)).to_have_count(0)


def test_a_browser_that_was_offline_catches_up(page: Page, app: App) -> None:
    learn(app, 1)
    page.goto(f"{app.url}/memories")
    row = page.get_by_role("row", name=re.compile("Chore 01"))
    expect(row).to_be_visible()
    before = row.bounding_box()

    page.context.set_offline(True)
    expect(page.get_by_text(OFFLINE)).to_be_visible()
    assert row.bounding_box() == before
    learn(app, *range(2, 8))
    time.sleep(2)
    page.context.set_offline(False)

    expect(page.get_by_text(OFFLINE)).to_have_count(0)
    wait_until_equal([page], app, 7)


def test_paused_live_updates_are_counted_and_applied_later(page: Page, app: App) -> None:
    learn(app, 1)
    tabs = tabs_of(page, app)
    page.get_by_role("button", name="Pause live updates").click()

    learn(app, 2, 3)
    wait_until_equal(tabs[1:], app, 3)
    expect(page.get_by_text(re.compile(r"Paused, \d+ changes behind"))).to_be_visible()
    assert shown(page) == ["Chore 01 on Sundays"]
    page.get_by_role("button", name="Pause live updates").click()

    wait_until_equal(tabs, app, 3)
