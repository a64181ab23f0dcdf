"""Bulk operations of an operator on memories, and their undo."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone


def add(app: App, observation: str, **more: object) -> int:
    body = {"category": "timing", "service": "jellyfin", "observation": observation, **more}
    return int(app.post("/api/v1/memories", body)["id"])


def sure(app: App, service: str) -> list[float]:
    rows = app.get(f"/api/v1/memories?service={service}&limit=200")["items"]
    return sorted({row["confidence"] for row in rows})


def test_all_matching_memories_are_changed_and_restored_by_one_undo(page: Page, app: App) -> None:
    for number in range(60):
        add(app, f"Fact {number}")
    add(app, "Stays", service="caddy")
    page.goto(f"{app.url}/memories?service=jellyfin")
    expect(page.get_by_text("60 memories", exact=True)).to_be_visible()

    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Select all 60 memories that match").click()
    page.get_by_label("Bulk action").select_option("Lower confidence by")
    page.get_by_label("Amount").fill("0.2")
    page.get_by_role("button", name="Apply").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Lower the confidence of 60 memories by 0.20?")
    question.get_by_role("button", name="Apply changes").click()

    expect(page.get_by_text("Confidence of 60 memories lowered by 0.20.")).to_be_visible()
    assert (sure(app, "jellyfin"), sure(app, "caddy")) == ([0.5], [0.7])
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Reverted")).to_be_visible()
    assert sure(app, "jellyfin") == [0.7]


def test_memories_are_grouped_by_service(page: Page, app: App) -> None:
    add(app, "Of no service", service=None)
    add(app, "Of caddy", service="caddy")
    add(app, "Of jellyfin")

    page.goto(f"{app.url}/memories?group=service")

    heads = page.get_by_role("rowheader")
    expect(heads).to_have_text(["caddy 1", "jellyfin 1", "general 1"])


def test_a_memory_as_of_an_earlier_time_is_read_only(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    then = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary", name="Memory")
    panel.get_by_label("Observation").fill("Takes 90s")
    panel.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name=re.compile("Takes 90s"))).to_be_visible()
    add(app, "Learned later")

    page.goto(f"{app.url}/memories/{memory}?as_of={then}")

    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Learned later"))).to_have_count(0)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    expect(page.get_by_label("Select all shown")).to_be_disabled()
    page.get_by_role("button", name="Back to now").click()
    expect(page.get_by_role("row", name=re.compile("Learned later"))).to_be_visible()
    expect(page).to_have_url(f"{app.url}/memories/{memory}")


def test_the_next_prompt_without_a_memory_is_shown_before_it_is_gone(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories/{memory}")

    page.get_by_role("button", name="Preview without this memory").click()

    lost = page.get_by_role("list", name="Compared with the next prompt").get_by_role("deletion")
    expect(lost.filter(has_text="Takes 60s")).to_be_visible()
    page.get_by_label("Without this memory").uncheck()
    expect(page.get_by_text("The prompt does not change.")).to_be_visible()
