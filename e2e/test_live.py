"""The page of a running session, from an operator's view."""

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from app import App

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)

LISTS = re.compile(r"/api/v1/(memories|events)(\?|$)")
LOADED = """(lists) => !document.querySelector("main [aria-busy=true]")
  && performance.getEntriesByType("resource").some(({ name }) => new RegExp(lists).test(name))
"""


def read_again(page: Page) -> list[str]:
    """Return the list requests of the page from now on: the stream needs none."""
    # newer browsers never report the script of a worker as loaded, so the network is never idle
    page.wait_for_function(LOADED, arg=LISTS.pattern)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.wait_for_timeout(500)
    read: list[str] = []
    page.on("request", lambda each: read.append(each.url) if LISTS.search(each.url) else None)
    return read


SLOW_START = "[MEMORY:timing:jellyfin] Takes 60s to start after restart"


def test_a_marker_of_a_running_session_appears_without_reload(page: Page, app: App) -> None:
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    read = read_again(page)

    app.says(SLOW_START)

    row = page.get_by_role("row", name=re.compile("Takes 60s to start after restart"))
    expect(row).to_be_visible()
    assert read == [], "it comes by the stream, not by reading the list again"
    assert app.get("/api/v1/sessions/1")["status"] == "running"


def test_new_rows_are_held_while_the_pointer_is_over_the_table(page: Page, app: App) -> None:
    app.says(SLOW_START)
    page.goto(f"{app.url}/memories")
    first = page.get_by_role("row", name=re.compile("Takes 60s"))
    first.hover()
    before = first.bounding_box()

    app.says("[MEMORY:behavior:adguard] Answers HTTP 302 when healthy")
    app.says("[MEMORY:behavior:caddy] Answers HTTP 200 when healthy")

    pill = page.get_by_role("button", name="2 new memories")
    expect(pill).to_be_visible()
    after = first.bounding_box()
    assert after == before
    assert page.get_by_role("row").count() == 2
    pill.click()
    expect(page.get_by_role("row", name=re.compile("Answers HTTP 302"))).to_be_visible()


def test_a_session_is_followed_live_with_its_markers_and_prompt(page: Page, app: App) -> None:
    app.post("/api/v1/memories", {"category": "maintenance", "observation": "Vacuum on Sundays"})
    app.says("[EVENT:warning:jellyfin] Slow today")
    page.goto(f"{app.url}/sessions/1")
    expect(page.get_by_role("region", name="Output lines")).to_contain_text("Slow today")

    app.says(f"Looking around.\n{SLOW_START}\n`[MEMORY:timing:jellyfin] In code`")

    expect(page.get_by_text("Looking around.")).to_be_visible()
    expect(page.get_by_text("learned", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Ingest").click()
    expect(page.get_by_role("button", name="Ingest")).to_have_count(0)
    expect(page.get_by_role("link", name=re.compile(r"^memory \d+$")).first).to_be_focused()
    assert app.get("/api/v1/memories?q=In+code")["total"] == 1
    app.ends()
    expect(page.get_by_text("completed").first).to_be_visible(timeout=2_000)


def test_a_running_session_is_stopped_from_its_page(page: Page, app: App) -> None:
    app.says("[EVENT:info] hello")
    page.goto(f"{app.url}/sessions/1")

    page.get_by_role("button", name="Stop", exact=True).click()

    expect(page.get_by_text("stopped").first).to_be_visible()
    expect(page.get_by_role("heading", name="Session 1", level=1)).to_be_focused()
    assert app.get("/api/v1/sessions/1")["reason"] == "Stopped by an operator."


def test_run_now_is_queued_and_then_runs(page: Page, app: App) -> None:
    app.says("[EVENT:info] first round")
    page.goto(f"{app.url}/sessions")

    page.get_by_role("button", name="Run now").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    expect(page.get_by_text(re.compile("1 waiting"))).to_be_visible()
    app.ends()

    expect(page.get_by_role("link", name="#2")).to_be_visible(timeout=5_000)
    app.ends()


def test_events_appear_and_become_a_memory(page: Page, app: App) -> None:
    page.goto(f"{app.url}/events")
    read = read_again(page)

    app.says("[EVENT:critical:jellyfin] Connection refused on port 8096")

    expect(page.get_by_text("Connection refused on port 8096")).to_be_visible()
    assert read == [], "it comes by the stream, not by reading the list again"
    page.get_by_role("button", name=re.compile("Create memory")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Category").select_option("behavior")
    dialog.get_by_role("button", name=re.compile("Save|Add Memory")).click()
    expect(dialog).to_have_count(0)
    [memory] = app.get("/api/v1/memories")["items"]
    assert (memory["service"], memory["category"]) == ("jellyfin", "behavior")
    assert "Connection refused on port 8096" in memory["observation"]


def test_pages_catch_up_after_the_web_process_was_killed(page: Page, app: App) -> None:
    app.says(SLOW_START)
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_be_visible()

    row = page.get_by_role("row", name=re.compile("Takes 60s"))
    before = row.bounding_box()

    app.kill("web")
    app.says("[MEMORY:behavior:caddy] Learned while nobody looked")
    expect(page.get_by_text(re.compile(r"^Live updates lost \d+ s ago"))).to_be_visible()
    assert row.bounding_box() == before
    time.sleep(1)
    app.start("web")

    row = page.get_by_role("row", name=re.compile("Learned while nobody looked"))
    expect(row).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Live updates lost \d+ s ago"))).to_be_hidden()


def test_twelve_tabs_are_all_live(browser: Browser, app: App) -> None:
    context = browser.new_context()
    tabs = [context.new_page() for _ in range(12)]
    app.log_in(tabs[0])
    for tab in tabs:
        tab.goto(f"{app.url}/memories", timeout=20_000)

    app.says(SLOW_START)

    for tab in tabs:
        row = tab.get_by_role("row", name=re.compile("Takes 60s"))
        expect(row).to_be_visible(timeout=5_000)
    context.close()
