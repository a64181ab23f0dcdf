"""The search: from a key to a result, to its content, corrected there, and back."""

import re

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone

FOCUS = "document.activeElement.closest('[data-row]')?.textContent.trim() ?? ''"


def test_the_keyboard_leads_from_the_search_to_a_memory_corrected_and_back(
    page: Page, app: App
) -> None:
    slow = {"category": "timing", "service": "jellyfin", "observation": "Takes 60s to start"}
    app.post("/api/v1/memories", slow)
    other = {"category": "decision", "title": "Start <b>order</b>", "project": "shop"}
    app.post("/api/v1/memories", {**other, "observation": "The console starts last"})
    page.goto(f"{app.url}/overview")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search text")).to_be_focused()
    page.keyboard.type("60s starting")
    page.keyboard.press("Enter")
    hits = page.get_by_role("listitem").filter(has=page.locator("[data-row]"))
    expect(hits.first).to_contain_text("Takes 60s to start")
    expect(page.locator("mark")).to_contain_text(["60s", "start"])
    page.wait_for_function(f"() => {FOCUS} !== ''")
    assert "60s" in page.evaluate(FOCUS)
    page.keyboard.press("w")
    expect(page.get_by_text(re.compile("keyword search: #1 of"))).to_be_visible()
    page.keyboard.press("j")
    assert "Start <b>order</b>" in page.evaluate(FOCUS)
    page.keyboard.press("k")

    page.keyboard.press("e")
    text = page.get_by_role("complementary", name="Memory").get_by_label("Observation")
    expect(text).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Takes 90s to start")
    page.get_by_role("button", name="Save", exact=True).press("Enter")

    expect(hits.first).to_contain_text("Takes 90s to start")
    expect(page).to_have_url(re.compile(r"/search/1\?q=60s\+starting$"))
    page.get_by_role("button", name="Close panel").press("Enter")
    page.wait_for_function(f"() => {FOCUS}.includes('90s')")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_be_focused()
    for _ in ("the panel", "the results", "the search"):
        page.go_back()
    expect(page).to_have_url(re.compile("/overview$"))


def test_a_search_shows_its_layers_and_reports_earlier_results_offline(
    page: Page, app: App
) -> None:
    app.post("/api/v1/events", {"level": "warning", "service": "caddy", "text": "Ran out of room"})
    page.goto(f"{app.url}/search?q=room")
    expect(page.get_by_role("heading", name="No results for “room”")).to_be_visible()

    page.get_by_role("button", name="Events").click()
    expect(page.get_by_role("region", name="Events")).to_contain_text("Ran out of room")
    expect(page).to_have_url(re.compile("layers=memory%2Csession%2Cpage%2Cevent"))
    page.reload()
    expect(page.get_by_role("region", name="Events")).to_contain_text("Ran out of room")

    page.context.set_offline(True)
    page.get_by_role("searchbox").fill("rooms")
    expect(page.get_by_text("these are earlier results")).to_be_visible()
    expect(page.get_by_role("region", name="Events")).to_contain_text("Ran out of room")
    page.context.set_offline(False)
    expect(page.get_by_text("1 result for “rooms”")).to_be_visible()


def test_typed_filters_are_chips_and_can_be_removed(page: Page, app: App) -> None:
    for service in ("caddy", "plex"):
        event = {"level": "warning", "service": service, "text": f"The disk of {service} is full"}
        app.post("/api/v1/events", event)
    page.goto(f"{app.url}/search?q=disk+service:caddy+in:events")

    place = page.get_by_role("group", name="Search in")
    expect(page.get_by_text("The disk of caddy")).to_be_visible()
    expect(place.get_by_role("button", name="Events")).to_have_attribute("aria-pressed", "true")
    expect(place.get_by_role("button", name="Memories")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Remove service:caddy from the search text").click()

    expect(page).to_have_url(re.compile(r"q=disk\+in%3Aevents$"))
    expect(page.get_by_role("searchbox")).to_have_value("disk in:events")
    expect(page.get_by_text("The disk of plex")).to_be_visible()
    page.goto(f"{app.url}/search?q=disk+service:caddy&service=plex&layers=event")
    expect(page.get_by_text("“service:caddy” is searched as text")).to_be_visible()
    expect(page.get_by_text("The disk of plex")).to_be_visible()
