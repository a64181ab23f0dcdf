"""The preview of the next session's prompt: the same bytes, under any budget."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_round import looked_at

TEXTS = ("Takes 60s to start", "Refuses its first query", "Needs its library scanned on Mondays")


@pytest.fixture
def knowing(app: App) -> App:
    """An app with a few memories, whose first session has ended."""
    for n, text in enumerate(TEXTS):
        body = {"category": "behavior", "service": "jellyfin", "observation": text}
        app.post("/api/v1/memories", {**body, "confidence": 0.9 - n / 10})
    app.ends()
    ended(app, 1)
    return app


def ended(app: App, session: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = app.get("/api/v1/sessions?limit=1")["items"]
        if found and found[0]["id"] >= session and found[0]["status"] != "running":
            return
        time.sleep(0.05)
    raise AssertionError(f"session {session} has not ended")


def timeless(text: str | None) -> str:
    """Return the prompt without the minute: a session starts a little later."""
    return re.sub(r"(?m)^- Time: .*$", "", text or "")


def test_any_memory_is_found_with_the_reason_why_it_is_in_the_prompt_or_not(
    page: Page, knowing: App
) -> None:
    page.goto(f"{knowing.url}/preview?budget=40")
    finder = page.get_by_role("region", name="Find a memory")

    finder.get_by_role("searchbox").fill("library")

    row = finder.get_by_role("listitem").filter(has_text=TEXTS[2])
    expect(row).to_contain_text("Not in the prompt.")
    expect(row).to_contain_text("Rank 3 of 3.")
    budget = finder.get_by_text(re.compile(r"a budget of \d+ tokens or more"))
    words = budget.inner_text()
    page.get_by_role("spinbutton", name="tokens").fill(re.sub(r"\D", "", words))
    expect(row).to_contain_text("In the prompt. Line 3 of 3.")
    expect(finder.get_by_text("Any of these would include it")).to_be_hidden()
    finder.get_by_role("searchbox").fill("no such words")
    expect(finder.get_by_role("status")).to_have_text("No memories match.")


def test_a_smaller_budget_drops_memories_at_once_and_by_keys(page: Page, knowing: App) -> None:
    page.goto(f"{knowing.url}/preview")
    last = page.get_by_role("listitem").filter(has_text=TEXTS[2])
    expect(last).to_contain_text("included, #3")
    expect(page.get_by_text("active: 2,000")).to_be_visible()

    page.get_by_role("spinbutton", name="tokens").fill("40")
    expect(last).to_contain_text("drops out")
    expect(page).to_have_url(re.compile("budget=40"))
    slider = page.get_by_role("slider", name="Budget in tokens")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")

    expect(page).to_have_url(re.compile("budget=100"))
    expect(last).to_contain_text("included, #3")
    page.reload()
    expect(page.get_by_role("spinbutton", name="tokens")).to_have_value("100")
    page.get_by_role("checkbox").first.uncheck()
    expect(page.get_by_role("listitem").filter(has_text=TEXTS[0])).to_contain_text(
        "excluded by you"
    )
    assert looked_at(page, "here") == []


def test_a_session_started_now_gets_the_same_bytes(page: Page, knowing: App) -> None:
    page.goto(f"{knowing.url}/preview?tier=2&services=jellyfin")
    shown: dict[str, Any] = {
        name: page.locator(f"pre[aria-label='{label}']")
        for name, label in (
            ("injected", "Context"),
            ("prompt", "Prompt"),
            ("system", "System prompt"),
        )
    }
    expect(shown["injected"]).to_contain_text(TEXTS[2])
    texts = {name: each.text_content() for name, each in shown.items()}

    knowing.post("/api/v1/sessions", {"tier": 2, "services": ["jellyfin"]})
    knowing.ends()
    ended(knowing, 2)

    given = knowing.get("/api/v1/sessions/2/prompt")
    assert timeless(texts["injected"]) == timeless(given["injected"])
    assert (texts["prompt"], texts["system"]) == (given["prompt"], given["system"])
    page.goto(f"{knowing.url}/preview?tier=2&services=jellyfin&against=2")
    expect(page.get_by_text("Session 2 had exactly this prompt.")).to_be_visible()


def test_a_session_prompt_is_compared_and_live_changes_are_held(page: Page, knowing: App) -> None:
    page.goto(f"{knowing.url}/preview")
    page.get_by_role("combobox", name="Compare with a session").select_option("1")
    expect(page.get_by_text(re.compile("^(Compared with session|Session) 1"))).to_be_visible()
    paper = page.locator("pre[aria-label='Context']")
    expect(paper).to_contain_text(TEXTS[0])

    body = {"category": "timing", "service": "jellyfin", "observation": "Sleeps at noon"}
    knowing.post("/api/v1/memories", body)
    pill = page.get_by_role("button", name="1 change since: refresh")
    expect(pill).to_be_visible()
    expect(paper).not_to_contain_text("Sleeps at noon")
    pill.click()

    expect(paper).to_contain_text("Sleeps at noon")
    expect(pill).to_be_hidden()
