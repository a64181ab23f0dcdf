"""A confidence typed outside 0 to 1 is clamped in each editor, and a note says so."""

import pytest
from playwright.sync_api import Locator, Page, expect

from app import App

pytestmark = pytest.mark.web_alone

TOO_HIGH = "Confidence ranges from 0 to 1: 1.5 was changed to 1.00."
TOO_LOW = "Confidence ranges from 0 to 1: -1 was changed to 0.00."
CASES = pytest.mark.parametrize(
    ("typed", "saved", "note"), [("1.5", 1.0, TOO_HIGH), ("-1", 0.0, TOO_LOW)]
)


def add(app: App) -> int:
    body = {"category": "timing", "service": "jellyfin", "observation": "Takes 60s"}
    return int(app.post("/api/v1/memories", body)["id"])


def type_into(form: Locator, typed: str) -> Locator:
    number = form.get_by_label("Confidence", exact=True)
    number.fill(typed)
    number.blur()
    return number


def type_and_save(page: Page, form: Locator, typed: str, saved: float, note: str) -> None:
    expect(type_into(form, typed)).to_have_value(f"{saved:.0f}")
    expect(form).to_contain_text(note)
    form.get_by_label("Confidence", exact=True).fill(typed)
    page.keyboard.press("Enter")

    expect(page.locator(".toast").get_by_text(note)).to_be_visible()


@CASES
def test_add_memory_clamps(page: Page, app: App, typed: str, saved: float, note: str) -> None:
    page.goto(f"{app.url}/memories")
    page.get_by_role("button", name="Add Memory").first.click()
    dialog = page.get_by_role("dialog", name="Add Memory")
    dialog.get_by_label("Observation").fill("Starts at once")

    expect(type_into(dialog, typed)).to_have_value(f"{saved:.0f}")
    expect(dialog).to_contain_text(note)
    dialog.get_by_role("button", name="Save").click()

    expect(page.get_by_text(f"Memory added. {note}", exact=True)).to_be_visible()
    assert app.get("/api/v1/memories?q=Starts")["items"][0]["confidence"] == saved


@CASES
def test_the_row_editor_clamps(page: Page, app: App, typed: str, saved: float, note: str) -> None:
    number = add(app)
    page.goto(f"{app.url}/memories")
    page.get_by_role("link", name="Takes 60s").dblclick()
    form = page.get_by_role("form", name=f"Edit memory {number}")

    type_and_save(page, form, typed, saved, note)
    assert app.get(f"/api/v1/memories/{number}")["confidence"] == saved


@CASES
def test_the_panel_clamps(page: Page, app: App, typed: str, saved: float, note: str) -> None:
    number = add(app)
    page.goto(f"{app.url}/memories/{number}")
    panel = page.get_by_role("complementary", name="Memory")

    type_and_save(page, panel, typed, saved, note)
    assert app.get(f"/api/v1/memories/{number}")["confidence"] == saved


@CASES
def test_the_bulk_edit_clamps(page: Page, app: App, typed: str, saved: float, note: str) -> None:
    number = add(app)
    page.goto(f"{app.url}/memories")
    page.get_by_role("checkbox", name="Select all shown").check()
    value = page.get_by_label("Amount")
    value.fill("")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Enter a number from 0 to 1.")).to_be_visible()
    value.fill(typed)
    page.get_by_role("button", name="Apply").click()

    expect(value).to_have_value(f"{saved:.0f}")
    expect(page.get_by_text(note, exact=True)).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Apply changes").click()
    expect(page.get_by_text("set to", exact=False).first).to_be_visible()
    assert app.get(f"/api/v1/memories/{number}")["confidence"] == saved
