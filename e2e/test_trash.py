"""Deleted memories are listed in the trash, restored, and deleted permanently."""

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone


def delete(app: App, page: Page, *observations: str) -> None:
    for each in observations:
        body = {"category": "timing", "service": "jellyfin", "observation": each}
        number = app.post("/api/v1/memories", body)["id"]
        page.request.delete(f"{app.url}/api/v1/memories/{number}", headers=app.way_in())


@pytest.mark.parametrize("width", [1280, 390])
def test_the_trash_is_operated_by_keys(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{app.url}/memories")
    page.get_by_role("link", name="Trash").click()
    expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()

    delete(app, page, "Takes 60s", "Needs redis")

    rows = page.get_by_role("region", name="Deleted memories").get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="Takes 60s")).to_contain_text("2 changes")
    rows.filter(has_text="Takes 60s").get_by_role("button", name="Restore").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("heading", name="Trash", level=1)).to_be_focused()
    assert app.get("/api/v1/memories?q=Takes")["total"] == 1

    rows.get_by_role("button", name="permanently").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Needs redis")
    dialog.get_by_role("button", name="Cancel").click()
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="permanently").click()
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()
    assert app.get("/api/v1/trash")["total"] == 0
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0
