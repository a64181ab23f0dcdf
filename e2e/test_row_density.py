"""Lists show twenty rows on a laptop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_incidents import fails

ROWS = {
    "/memories": "tr[data-id]",
    "/events": "table.events tbody .row",
    "/sessions": "table.sessions tbody .row",
    "/incidents": ".incidents .incident",
}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """Start an app with a row of each kind, of a usual length."""
    started = App(tmp_path / "home", env={"LAMPLIGHTER_WEBHOOK_TOKEN": "monitors"}).start()
    words = "The first restart attempt fails due to a database lock; the second one succeeds"
    memory = {"category": "behavior", "service": "jellyfin", "observation": words}
    started.post("/api/v1/memories", memory)
    started.says("[EVENT:warning:jellyfin] Answers in 8.1 s")
    yield started
    started.stop()


def test_twenty_rows_fit_on_a_laptop(page: Page, app: App) -> None:
    few = {}
    for path, row in ROWS.items():
        if path == "/incidents":
            fails(app)
        page.goto(f"{app.url}{path}")
        first = page.locator(row).first
        expect(first).to_be_visible()
        box = first.bounding_box()
        assert box is not None
        if (fit := (800 - box["y"]) / box["height"]) < 20:
            few[path] = fit
    assert few == {}


def test_a_long_observation_leaves_room_for_other_rows_on_a_phone(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    body = {"category": "behavior", "service": "jellyfin", "observation": "Logs a lot. " * 900}
    number = app.post("/api/v1/memories", body)["id"]
    page.goto(f"{app.url}/memories")

    box = page.locator(f"tr[data-id='{number}']").bounding_box()
    assert box
    assert box["height"] < 200

    page.request.delete(f"{app.url}/api/v1/memories/{number}", headers=app.way_in())
    page.goto(f"{app.url}/trash")
    row = page.get_by_role("region", name="Deleted memories").get_by_role("listitem").first
    expect(row).to_be_visible()
    assert (row.bounding_box() or box)["height"] < 300
