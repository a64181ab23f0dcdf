"""The page Memories lists operational memories; a filter shows knowledge or all."""

import re

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone


def add(app: App, observation: str, category: str) -> None:
    app.post("/api/v1/memories", {"category": category, "observation": observation})


def test_knowledge_is_listed_when_it_is_chosen(page: Page, app: App) -> None:
    add(app, "Takes 60s", "timing")
    add(app, "Use WAL mode", "decision")
    rows = page.locator("tr[data-id]")
    page.goto(f"{app.url}/memories")

    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Takes 60s")
    section = page.get_by_role("combobox", name="Section")
    section.select_option("knowledge")
    expect(rows).to_contain_text("Use WAL mode")
    expect(page).to_have_url(re.compile("section=knowledge"))
    section.select_option("all")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Clear filters").click()
    expect(rows).to_have_count(1)


def test_an_act_on_all_operational_matches_does_not_change_knowledge(page: Page, app: App) -> None:
    for number in range(60):
        add(app, f"Fact {number}", "timing")
    add(app, "Use WAL mode", "decision")
    page.goto(f"{app.url}/memories")
    expect(page.locator("tr[data-id]").first).to_be_visible()

    page.get_by_role("checkbox", name="Select all shown").check()
    page.get_by_role("button", name="Select all 60 memories that match").click()
    page.get_by_role("button", name="Delete Selected").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("60 memories deleted.")).to_be_visible()

    left = app.get("/api/v1/memories")["items"]
    assert [each["observation"] for each in left] == ["Use WAL mode"]
