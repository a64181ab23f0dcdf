"""Events: their times, repeated events, and a link to one event."""

import re

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_round import looked_at

pytestmark = pytest.mark.web_alone

REFUSED = "Connection refused on port 8096"


def report(app: App, text: str = REFUSED, level: str = "critical") -> int:
    body = {"level": level, "text": text, "service": "jellyfin"}
    return int(app.post("/api/v1/events", body)["id"])


@pytest.fixture
def eventful(app: App) -> App:
    """An app with one event that occurred three times and another that occurred once."""
    for _ in range(3):
        report(app)
    report(app, "All is well", "info")
    return app


def test_a_range_is_chosen_by_keys_and_survives_a_reload(page: Page, eventful: App) -> None:
    page.goto(f"{eventful.url}/events")
    expect(page.get_by_text("4 events, 3 critical, 0 warnings")).to_be_visible()
    expect(page.locator(".when-plot canvas")).to_be_visible()

    page.get_by_role("combobox", name="Start of the time range").select_option("custom range")
    page.get_by_label("To", exact=True).fill("2020-01-01T00:00:00")
    page.keyboard.press("Tab")
    expect(page).to_have_url(re.compile("to=2020-01-01|to=2019-12-31"))
    expect(page.get_by_role("heading", name="No events match")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="No events match")).to_be_visible()
    page.get_by_role("button", name="All time").click()

    expect(page.get_by_role("row", name=re.compile("All is well"))).to_be_visible()
    page.get_by_role("combobox", name="Start of the time range").select_option("last hour")
    expect(page).to_have_url(re.compile("from=20"))
    expect(page.get_by_role("row", name=re.compile("All is well"))).to_be_visible()
    assert looked_at(page, "here") == []


def test_a_time_range_is_selected_by_dragging(page: Page, eventful: App) -> None:
    page.goto(f"{eventful.url}/events")
    over = page.locator(".when-plot .u-over")
    expect(over).to_be_visible()
    box = over.bounding_box()
    assert box

    page.mouse.move(box["x"] + 10, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 20, steps=4)
    page.mouse.up()

    expect(page).to_have_url(re.compile(r"from=20.*to=20"))


def test_identical_events_are_one_row_with_a_count(page: Page, eventful: App) -> None:
    page.goto(f"{eventful.url}/events")
    page.get_by_role("button", name="group identical").click()
    row = page.get_by_role("row", name=re.compile(REFUSED))
    expect(row).to_contain_text("×3")
    row.get_by_role("button", name="Show the 3 events").click()
    expect(page.get_by_role("link", name=re.compile(r"^event \d+$"))).to_have_count(3)

    report(eventful)

    expect(row).to_contain_text("×4")
    page.get_by_role("button", name="1 newer: show it").click()
    expect(page.get_by_role("link", name=re.compile(r"^event \d+$"))).to_have_count(4)
    page.reload()
    expect(row).to_contain_text("×4")
    assert looked_at(page, "here") == []


def test_a_link_shows_one_event_and_what_happened_around_it(page: Page, eventful: App) -> None:
    one = report(eventful, "The one that is meant", "warning")
    page.goto(f"{eventful.url}/events?event={one}")
    card = page.get_by_role("complementary", name="Linked event")
    expect(card).to_contain_text("The one that is meant")

    card.get_by_role("button", name="Show context").click()

    expect(page).to_have_url(re.compile(f"event={one}&from=.*&to="))
    expect(page.get_by_role("row", name=re.compile("The one that is meant"))).to_be_visible()
    card.get_by_role("button", name="Create memory").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Observation")).to_have_value("The one that is meant")
