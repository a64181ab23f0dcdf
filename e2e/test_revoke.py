"""The memories of a session are revoked from its page after a preview, and the undo."""

import os

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone

PICTURES = os.environ.get("PICTURES", "")
SAVED = {
    "title": "Store",
    "type": "decision",
    "content": "We decided to use Redis for sessions",
    "topic_key": "store",
    "project": "web",
}


def teach(app: App, page: Page, agent: str | None = None) -> int:
    """Let a client's session save a decision, and return the number of the session."""
    way_in = app.way_in()
    if agent:
        token = app.post("/api/v1/tokens", {"scopes": ["write"], "agent": agent})["token"]
        way_in = {"Authorization": f"Bearer {token}"}
    opened = {"id": "s1", "project": "web"}
    for path, sent in (("sessions", opened), ("observations", SAVED | {"session_id": "s1"})):
        answer = page.request.post(f"{app.url}/agentops/{path}", data=sent, headers=way_in)
        assert answer.ok, answer.text()
    return int(app.get("/api/v1/memories")["items"][0]["session_id"])


def shoot(page: Page, name: str, width: int) -> None:
    if PICTURES:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{PICTURES}/{name}-{width}-{scheme}.png")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_session_is_revoked_by_keys_after_a_preview(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    number = teach(app, page)
    page.goto(f"{app.url}/sessions/{number}")
    page.get_by_role("button", name="Revoke").focus()
    page.keyboard.press("Enter")

    dialog = page.get_by_role("dialog", name=f"Revoke session {number}")
    expect(dialog).to_contain_text("1 memory is removed")
    expect(dialog).to_contain_text("Next prompt: project web")
    expect(dialog.get_by_role("listitem").filter(has_text="use Redis").first).to_be_visible()
    shoot(page, "revoke", width)
    assert app.get("/api/v1/memories")["total"] == 1
    dialog.get_by_role("button", name="Revoke").press("Enter")

    expect(dialog).to_be_hidden()
    expect(page.get_by_text("Revoked. 1 memory was removed or restored.")).to_be_visible()
    assert app.get("/api/v1/memories")["total"] == 0
    with page.expect_response(lambda answer: answer.url.endswith("/undo")):
        page.get_by_role("button", name="Undo").click()
    assert app.get("/api/v1/memories")["total"] == 1
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0


def test_an_agent_is_revoked_from_the_settings(page: Page, app: App) -> None:
    teach(app, page, "coder")
    page.goto(f"{app.url}/settings")
    link = (
        page.get_by_role("region", name="Agents").get_by_role("link", name="project").bounding_box()
    )
    assert (link or {})["height"] >= 24, "too small to tap beside the button"
    page.get_by_role("button", name="Revoke memories of agent coder").click()

    dialog = page.get_by_role("dialog", name="Revoke agent coder")
    expect(dialog).to_contain_text("1 memory is removed")
    shoot(page, "agent", 1280)
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Revoke memories of agent coder").click()
    dialog.get_by_role("button", name="Revoke").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Revoke memories of agent coder").click()
    expect(dialog).to_contain_text("Nothing to revoke")
    expect(dialog.get_by_role("button", name="Revoke")).to_be_disabled()
