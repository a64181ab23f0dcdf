"""The audit page: the memories on a topic, opened from a service or a memory; printed."""

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_round import RULES, violations

pytestmark = pytest.mark.web_alone

TEXT = "Takes 60s to start after restart"


def fill(app: App) -> None:
    for text, service in ((TEXT, "jellyfin"), ("Needs the share before it starts", "jellyfin")):
        app.post(
            "/api/v1/memories", {"category": "timing", "service": service, "observation": text}
        )


def test_a_topic_is_audited_from_a_service_and_a_memory(page: Page, app: App) -> None:
    fill(app)
    page.goto(f"{app.url}/services/jellyfin")
    page.get_by_role("link", name="Full audit").click()

    expect(page.get_by_role("heading", name="Audit of jellyfin")).to_be_visible()
    expect(page.get_by_text("2 active memories")).to_be_visible()
    belief = page.get_by_role("listitem").filter(
        has=page.get_by_role("heading", name=TEXT, exact=True)
    )
    expect(belief).to_contain_text("Never tested.")
    expect(belief).to_contain_text("Without it, the next prompt is 16 tokens shorter.")
    assert violations(page, RULES) == []

    belief.get_by_role("link", name=TEXT).click()
    page.get_by_role("link", name="everything about jellyfin").click()
    expect(page.get_by_role("heading", name="Audit of jellyfin")).to_be_visible()


def test_another_topic_is_entered_and_printed_without_navigation(page: Page, app: App) -> None:
    fill(app)
    page.goto(f"{app.url}/audit")
    expect(page.get_by_role("heading", name="Choose a topic")).to_be_visible()

    page.get_by_role("combobox", name="Service or word").fill("share")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Audit of share")).to_be_visible()
    expect(page.get_by_text("1 active memory")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Needs the share before it starts")).to_be_visible()
    expect(page.get_by_role("button", name="Print")).to_be_hidden()
    expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    page.emulate_media(media="screen")

    printed = page.evaluate_handle("() => { window.print = () => (window.printed = true) }")
    assert printed
    page.get_by_role("button", name="Print").click()
    page.wait_for_function("window.printed")
