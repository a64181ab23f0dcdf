"""Loading a page: with late code, after leaving the page, and in a basic browser."""

import re

from playwright.sync_api import Page, expect

from app import App

FOCUS = "document.activeElement.innerText"


def test_a_page_that_failed_to_load_appears_when_the_network_returns(page: Page, app: App) -> None:
    page.goto(f"{app.url}/overview")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.evaluate("window.ours = true")
    page.context.set_offline(True)

    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page.get_by_role("heading", name="Page could not be loaded")).to_be_visible()
    page.get_by_role("button", name="Reload").click()
    expect(page.get_by_role("heading", name="Page could not be loaded")).to_be_visible()
    page.context.set_offline(False)

    expect(page.get_by_role("button", name="Run full check")).to_be_visible()
    assert page.evaluate("window.ours")


def test_back_restores_the_scroll_position_and_the_focus(page: Page, app: App) -> None:
    for n in range(40):
        body = {"level": "info", "text": f"Looked {n} times", "service": "jellyfin"}
        app.post("/api/v1/events", body)
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    page.goto(f"{app.url}/events")
    expect(page.get_by_role("row", name=re.compile("Looked 0 times"))).to_be_attached()
    page.evaluate("scrollTo(0, 500)")

    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_focused()
    page.get_by_role("link", name=re.compile("Takes 60s")).wait_for()
    page.go_back()
    expect(page.get_by_role("heading", name="Events", level=1)).to_be_visible()
    page.wait_for_function("scrollY === 500")

    page.goto(f"{app.url}/sessions")
    page.get_by_role("link", name="#1", exact=True).first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.go_back()
    expect(page.get_by_role("link", name="#1", exact=True).first).to_be_focused()


def test_the_first_tab_stop_skips_the_navigation_on_every_page(page: Page, app: App) -> None:
    for path in ("/overview", "/health", "/settings", "/preview"):
        page.goto(f"{app.url}{path}")
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main .skeleton:visible")).to_have_count(0)

        page.keyboard.press("Tab")

        assert page.evaluate(FOCUS) == "Skip to content", path


def test_a_browser_without_shared_workers_is_live_too(page: Page, app: App) -> None:
    page.add_init_script("delete globalThis.SharedWorker")
    page.goto(f"{app.url}/memories")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()

    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")

    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_be_visible()
