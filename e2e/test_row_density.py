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
