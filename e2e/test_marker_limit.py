"""Markers over the limit of a session stay in its file until a person ingests them."""

import pytest
from playwright.sync_api import Page, expect

from app import App


@pytest.fixture
def database() -> dict[str, str]:
    """Let a session learn one marker."""
    return {"LAMPLIGHTER_MAX_MARKERS": "1"}


def test_markers_over_the_limit_are_ingested_by_a_button(page: Page, app: App) -> None:
    for service in ("jellyfin", "caddy", "redis"):
        app.says(f"[MEMORY:timing:{service}] Takes 60s to start")
    app.ends()
    page.goto(f"{app.url}/sessions/1")
    rail = page.get_by_role("region", name="Memory activity")
    expect(rail.get_by_text("2 more markers were not ingested")).to_be_visible()

    rail.get_by_role("button", name="Ingest them").click()

    expect(rail.get_by_role("button", name="3 learned")).to_be_visible()
    expect(rail.get_by_role("button", name="Ingest them")).to_be_hidden()
