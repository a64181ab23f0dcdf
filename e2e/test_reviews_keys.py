"""A queue of contradictions, reviewed with the keyboard only."""

import re

import pytest
from playwright.sync_api import Page, expect

import cases
from app import App

pytestmark = pytest.mark.web_alone

CASES = 50


def queue(app: App) -> list[int]:
    """Let fifty memories be contradicted."""
    ids: list[int] = []
    for number in range(CASES):
        for text, confidence in ((f"Takes {number + 10}s to start", 0.8), ("Takes 5s", 0.7)):
            body = {"category": "timing", "service": f"s{number}", "observation": text}
            made = app.post("/api/v1/memories", {**body, "confidence": confidence})
            ids.append(int(made["id"]))
    return cases.open_cases(app, list(zip(ids[::2], ids[1::2], strict=True)))


def test_fifty_cases_take_at_most_three_keys_each(page: Page, app: App) -> None:
    numbers = queue(app)
    pressed = 0

    def press(key: str) -> None:
        nonlocal pressed
        pressed += 1
        page.keyboard.press(key)

    page.goto(f"{app.url}/reviews")
    expect(page.get_by_text(re.compile(r"^50 open reviews, oldest .+\.$"))).to_be_visible()
    expect(page.locator("main [data-row]")).to_have_count(CASES)  # there is nothing to go to before
    press("j")
    press("Enter")
    for number in numbers:
        page.get_by_text(f"Review {number}", exact=True).wait_for()
        page.get_by_role("region", name="Options").wait_for()
        press("ad"[number % 2])
        expect(page.get_by_role("article", name="Review details")).to_be_focused()

    expect(page.get_by_role("region", name="Decision")).to_be_visible()
    expect(page.get_by_role("heading", name="No open reviews")).to_be_visible()
    assert pressed <= 3 * CASES
    settled = app.get("/api/v1/reviews?state=resolved&limit=200")["items"]
    assert {each["id"]: each["resolution"] for each in settled} == {
        number: ("keep_new", "keep_old")[number % 2] for number in numbers
    }


def test_the_effect_of_a_resolution_on_the_next_prompt_is_previewed(page: Page, app: App) -> None:
    *_, review = cases.contradiction(app, "Takes 60s to start", "Takes 10s to start")

    page.goto(f"{app.url}/reviews/{review}")

    foresight = page.get_by_role("region", name="In the next prompt")
    expect(foresight.get_by_role("deletion")).to_have_count(2)
    expect(foresight.get_by_role("deletion").first).to_contain_text("Takes 60s to start")
