"""The overview: each number links to its rows, and nothing moves during live updates."""

import re

from playwright.sync_api import Page, expect

from app import App
from cases import contradiction
from test_round import SHIFTS


def test_each_count_links_to_its_rows(page: Page, app: App) -> None:
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    app.says("[EVENT:critical:jellyfin] Connection refused on port 8096")
    app.ends()
    page.goto(app.url)

    page.get_by_role("button", name="1 new").click()
    page.get_by_role("link", name="Takes 60s to start after restart").click()
    expect(page).to_have_url(re.compile(r"/memories/\d+$"))

    for link, rows in {
        "1 critical": "Connection refused on port 8096",
        "1 of tier 1": "completed",
        "Tier 1, observe": "completed",
    }.items():
        page.goto(app.url)
        page.get_by_role("link", name=link).click()
        expect(page.get_by_role("main")).to_contain_text(rows)
    page.goto(app.url)
    expect(page.get_by_text("1 conflicting memory to review")).to_be_visible()
    page.get_by_role("link", name="Review", exact=True).click()
    expect(page.get_by_text("Answers HTTP 302").first).to_be_visible()


def test_all_reinforced_memories_are_listed_on_the_page(page: Page, app: App) -> None:
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    for number in range(1, 8):
        app.says(f"[MEMORY:behavior:svc{number}] Needs {number} workers to answer")
    app.ends()
    page.goto(app.url)
    expect(page.get_by_role("link", name=re.compile("Needs . workers"))).to_have_count(3)

    page.get_by_role("button", name="8 new").click()

    expect(page.get_by_role("link", name=re.compile("Needs . workers"))).to_have_count(7)
    expect(page.get_by_role("link", name=re.compile("Takes 60s"))).to_be_visible()


def test_the_countdown_causes_no_layout_shift(page: Page, app: App) -> None:
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    app.ends()
    page.add_init_script(SHIFTS)
    page.goto(app.url)
    countdown = page.get_by_text(re.compile(r"Next round in 59 min \d+ s"))
    expect(countdown).to_be_visible()
    before = countdown.inner_text()

    expect(page.get_by_text(before)).to_have_count(0)

    expect(page.get_by_text(re.compile("Supervisor online"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(r"^\$[0-9.]+ today"))).to_be_visible()
    assert page.evaluate("window.shifted") < 0.01
