"""The page scenarios of SPEC-0015, each test named by its scenario."""

import re

from playwright.sync_api import Page, expect

from app import App

SLOW_START = "Takes 60s to start after restart"


def add(app: App, observation: str, **more: object) -> int:
    body = {"category": "timing", "observation": observation, **more}
    return int(app.post("/api/v1/memories", body)["id"])


def cells(page: Page, observation: str) -> list[str]:
    """Return the texts of a memory's row, without the selection box."""
    row = page.get_by_role("row", name=re.compile(observation))
    expect(row).to_be_visible()
    return [text.strip() for text in row.get_by_role("cell").all_inner_texts()][1:]


def test_memories_page_renders(page: Page, app: App) -> None:
    """WHEN the operator navigates to `/memories`
    THEN a table is displayed showing: service (or "general"), category, observation, confidence
      (as a bar or percentage), active status, last updated, and source session link
    """
    add(app, "Vacuum on Sundays", category="maintenance", confidence=0.2)
    app.says(f"[MEMORY:timing:jellyfin] {SLOW_START}")
    page.goto(f"{app.url}/")

    page.get_by_role("navigation").first.get_by_role("link", name="Memories").click()

    learned, typed = cells(page, SLOW_START), cells(page, "Vacuum on Sundays")
    assert learned[:5] == ["jellyfin", "timing", SLOW_START, "0.70", "active"]
    assert typed[:5] == ["general", "maintenance", "Vacuum on Sundays", "0.20", "inactive"]
    assert learned[5]
    row = page.get_by_role("row", name=re.compile(SLOW_START))
    expect(row.locator("time")).to_have_attribute("datetime", re.compile(r"^\d{4}-.*Z$"))
    row.get_by_role("link", name="#1").click()
    expect(page).to_have_url(f"{app.url}/sessions/1")


def test_memories_page_auto_refreshes(page: Page, app: App) -> None:
    """WHEN the operator has the memories page open and a new memory is created during a running
      session
    THEN the new memory appears within 5 seconds via HTMX polling
    """
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()

    app.says(f"[MEMORY:timing:jellyfin] {SLOW_START}")

    row = page.get_by_role("row", name=re.compile(SLOW_START))
    expect(row).to_be_visible(timeout=5_000)
    assert app.get("/api/v1/sessions/1")["status"] == "running"


def test_a_contradiction_appears_while_the_page_is_open(page: Page, app: App) -> None:
    add(app, "Takes 30s to start after restart", service="jellyfin", confidence=0.4)
    page.goto(f"{app.url}/memories")
    assert cells(page, "Takes 30s")[3:5] == ["0.40", "active"]

    app.says(f"[MEMORY:timing:jellyfin] {SLOW_START}")

    row = page.get_by_role("row", name=re.compile("Takes 30s"))
    expect(row).to_contain_text("inactive")
    assert cells(page, "Takes 30s")[3:5] == ["0.20", "inactive"]


def test_inactive_memory_visible_in_dashboard(page: Page, app: App) -> None:
    """WHEN the operator views the memories page
    THEN inactive memories are displayed with visual distinction from active ones
    THEN inactive memories can still be edited or deleted by the operator
    """
    number = add(app, "Took 5s", confidence=0.2)
    add(app, SLOW_START)
    page.goto(f"{app.url}/memories")
    aside = page.get_by_role("row", name=re.compile("Took 5s"))
    believed = page.get_by_role("row", name=re.compile(SLOW_START))
    expect(aside).to_contain_text("inactive")
    expect(believed).not_to_contain_text("inactive")
    ink = "row => getComputedStyle(row.querySelector('a')).color"
    assert aside.evaluate(ink) != believed.evaluate(ink)

    aside.get_by_role("link", name="Took 5s").click()
    panel = page.get_by_role("complementary").filter(has_text="Took 5s").last
    panel.get_by_label("Observation").fill("Took 6s")
    panel.get_by_role("button", name="Save").click()

    expect(page.get_by_role("row", name=re.compile("Took 6s"))).to_contain_text("inactive")
    held = app.get(f"/api/v1/memories/{number}")
    assert (held["observation"], held["active"], held["confidence"]) == ("Took 6s", False, 0.2)
    page.get_by_role("button", name="Delete", exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")).click()
    expect(page.get_by_role("row", name=re.compile("Took 6s"))).to_have_count(0)
