"""A user's memory from an interactive session is confirmed with one key; one key undoes it."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone

TYPED = "No, use pnpm for the web client."


def typed(app: App) -> dict[str, Any]:
    """Let a user type a correction in a session, and return its memory."""
    event = {"session_id": "one", "cwd": "/home/ann/lantern", "prompt": TYPED}
    app.post("/api/v1/hooks/UserPromptSubmit", event)
    [found] = app.get("/api/v1/memories?project=lantern")["items"]
    return dict(found)


def trust(app: App, number: int) -> str:
    return str(app.get(f"/api/v1/memories/{number}")["trust"])


def test_a_key_confirms_a_row_and_z_undoes_the_confirmation(page: Page, app: App) -> None:
    memory = typed(app)
    page.goto(f"{app.url}/memories?section=all")
    row = page.get_by_role("row", name=TYPED)
    expect(row).to_contain_text("unverified")

    row.get_by_role("link", name=TYPED).focus()
    page.keyboard.press("c")
    expect(page.get_by_text(f"Memory {memory['id']} confirmed.")).to_be_visible()
    expect(row).to_contain_text("active")
    assert trust(app, memory["id"]) == "trusted"

    page.keyboard.press("z")
    expect(row).to_contain_text("unverified")
    assert trust(app, memory["id"]) == "unverified"


def test_the_panel_shows_the_source_of_a_memory_and_confirms_it(page: Page, app: App) -> None:
    memory = typed(app)
    page.goto(f"{app.url}/memories/{memory['id']}")
    panel = page.get_by_role("complementary", name="Memory")
    expect(panel).to_contain_text("Typed in a session, unverified.")

    panel.get_by_role("button", name="Confirm", exact=True).click()

    expect(panel.get_by_role("button", name="Confirm", exact=True)).to_be_hidden()
    expect(panel).to_contain_text("trusted")
    expect(panel.get_by_role("listitem").filter(has_text="Confirmed by a person")).to_have_count(1)
