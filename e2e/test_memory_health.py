"""The health of the memory in the app: measured, with an action that the supervisor runs."""

import pytest
from playwright.sync_api import Page, Route, expect

from app import App
from test_round import RULES, SHIFTS, violations

FULL = "The deploy of checkout failed because the disk was full"


@pytest.fixture
def database() -> dict[str, str]:
    """Let the organizer run only at a person's request."""
    return {"LAMPLIGHTER_ORGANIZE": "0"}


def test_a_figure_is_measured_and_repaired(page: Page, app: App) -> None:
    app.post("/agentops/sessions", {"id": "s1", "project": "shop"})
    for end in ("", " again"):
        seen = {"type": "learning", "title": f"Disk{end}", "content": f"{FULL}{end}"}
        app.post("/agentops/observations", {"session_id": "s1", "project": "shop", **seen})
    page.goto(f"{app.url}/health")
    expect(page.get_by_text("after the first measurement")).to_be_visible()

    page.get_by_role("button", name="Measure now").click()

    row = page.get_by_role("listitem").filter(
        has=page.get_by_role("heading", name="Not distilled", exact=True)
    )
    expect(row).to_contain_text("2 memories are not distilled. Goal: under 1,000.")
    assert violations(page, RULES) == []

    row.get_by_role("button", name="Run the organizer").click()

    done = page.get_by_text("Duplicates set aside: 1.")
    expect(done).to_be_visible(timeout=60_000)
    expect(row).to_contain_text("1 memory is not distilled.")
    expect(row).to_contain_text("Was 2")
    measured_late(page)
    page.reload()
    expect(row).to_contain_text("Was 2")
    assert page.evaluate("window.shifted") <= 0.01, page.evaluate("window.moved")


def measured_late(page: Page) -> None:
    """Delay the figures of the memory until the rest of the page is loaded."""

    def late(route: Route) -> None:
        page.wait_for_timeout(500)
        route.continue_()

    page.add_init_script(SHIFTS)
    page.route("**/api/v1/memory-health", late)
