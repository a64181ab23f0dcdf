"""Nothing moves on the page when a filter is applied or a session ends."""

import pytest
from playwright.sync_api import Page, expect

from app import App

WIDTHS = pytest.mark.parametrize("width", [1280, 390])
SHIFTS = """
window.shifts = []
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.shifts.push(
    each.sources.map(({node, previousRect: a, currentRect: b}) =>
      `${(node?.parentElement ?? node)?.className} ${a.y} ${b.y} ${a.x} ${b.x}`))
}).observe({type: "layout-shift", buffered: true})
"""


@WIDTHS
def test_a_filter_does_not_move_the_list(page: Page, app: App, width: int) -> None:
    body = {"category": "timing", "service": "jellyfin", "observation": "Takes 60s"}
    app.post("/api/v1/memories", body)
    page.set_viewport_size({"width": width, "height": 844})
    for address, name, label in (
        ("memories", "Service", "jellyfin"),
        ("sessions", "Status", "interrupted"),
        ("events", "Service", "jellyfin"),
    ):
        page.goto(f"{app.url}/{address}")
        bar = page.get_by_role("search", name="Filter the list")
        if width == 390:
            bar.get_by_text("Filters", exact=True).click()
        pick = bar.get_by_role("combobox", name=name)
        expect(pick.get_by_role("option", name=label)).to_be_attached()
        before = bar.bounding_box()

        pick.select_option(label)

        expect(bar.get_by_role("button", name="Clear filters")).to_be_visible()
        assert bar.bounding_box() == before, address


@WIDTHS
@pytest.mark.parametrize("ends", ["well", "stopped"])
def test_the_end_of_a_session_moves_nothing(page: Page, app: App, width: int, ends: str) -> None:
    app.says("[EVENT:warning:jellyfin] Slow today")
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(SHIFTS)
    page.goto(f"{app.url}/sessions/1")
    tabs = page.get_by_role("navigation", name="Session tabs")
    expect(page.get_by_role("region", name="Output lines")).to_contain_text("Slow today")
    expect(page.get_by_role("region", name="Memory activity")).to_contain_text("Slow today")
    before = tabs.bounding_box()
    page.evaluate("window.shifts.length = 0")

    app.ends() if ends == "well" else app.post("/api/v1/sessions/1/stop", {})

    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=20_000)
    assert (tabs.bounding_box() or {})["y"] == (before or {})["y"]
    assert page.evaluate("window.shifts") == []


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_the_end_of_a_round_does_not_move_the_overview(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{app.url}/overview")
    state = page.get_by_role("region", name="Status", exact=True)
    runs = state.get_by_role("link", name="is running")
    expect(runs).to_be_visible()
    before = runs.bounding_box()
    heard = state.get_by_role("link", name="Supervisor online")
    place = heard.bounding_box()

    app.ends()

    comes = state.get_by_text("Next round in")
    expect(comes).to_be_visible(timeout=20_000)
    assert (comes.bounding_box() or {})["height"] == (before or {})["height"]
    assert (heard.bounding_box() or {})["y"] == (place or {})["y"]
