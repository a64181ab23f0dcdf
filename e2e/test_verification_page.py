"""A memory is verified in its panel; the review of a failed one shows its evidence."""

import re

import pytest
from playwright.sync_api import Page, expect

from app import App

pytestmark = pytest.mark.web_alone

OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def remember(app: App, text: str) -> int:
    number: int = app.post("/api/v1/memories", {"category": "config", "observation": text})["id"]
    return number


@pytest.mark.parametrize("width", [1280, 390])
def test_a_memory_is_verified_and_a_check_attached(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    number = remember(app, "`ls` is installed")
    page.goto(f"{app.url}/memories/{number}")
    part = page.get_by_role("region", name="Verification")
    expect(part).to_contain_text("Not verified yet.")

    part.get_by_role("button", name="Verify now").focus()
    page.keyboard.press("Enter")
    expect(part).to_contain_text("Verified: each part of the text is confirmed.")
    expect(part).to_contain_text("confirmed command: ls: programs")
    assert app.get(f"/api/v1/memories/{number}")["trust"] == "trusted"

    part.get_by_role("button", name="Attach a check").click()
    part.get_by_role("combobox", name="Check", exact=True).select_option("tcp of jellyfin")
    part.get_by_role("combobox", name="Run every").select_option("6 hours")
    part.get_by_role("button", name="Attach", exact=True).click()
    checks = part.get_by_role("list", name="Attached checks")
    expect(checks).to_contain_text("tcp of jellyfin")
    expect(checks).to_contain_text("every 6 h")
    checks.get_by_role("button", name="Remove check").click()
    expect(checks).to_be_hidden()
    assert page.evaluate(OVER) <= 0


def test_a_command_that_may_change_something_is_refused(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(422)
    number = remember(app, "`ls` is installed")
    page.goto(f"{app.url}/memories/{number}")
    part = page.get_by_role("region", name="Verification")
    part.get_by_role("button", name="Attach a check").click()
    part.get_by_role("combobox", name="Check", exact=True).select_option(
        "A command that only reads"
    )
    part.get_by_role("textbox", name="Command").fill("rm -rf /srv")
    part.get_by_role("button", name="Attach", exact=True).click()
    expect(part).to_contain_text("is refused")
    assert app.get(f"/api/v1/memories/{number}/verification")["checks"] == []


def test_a_failed_verification_shows_its_evidence_and_is_corrected(page: Page, app: App) -> None:
    number = remember(app, "`zzz-program` is installed")
    page.goto(f"{app.url}/memories/{number}")
    part = page.get_by_role("region", name="Verification")
    part.get_by_role("button", name="Verify now").click()
    expect(part).to_contain_text("Failed: a source refutes the text.")
    part.get_by_role("link", name="Review 1").click()

    evidence = page.get_by_role("region", name="Evidence")
    expect(evidence).to_contain_text("command: zzz-program")
    expect(evidence).to_contain_text("programs")
    expect(page.get_by_role("region", name="New memory")).to_have_count(0)
    page.get_by_role("button", name=re.compile("Correct text")).click()
    page.get_by_role("textbox", name="Memory text").fill("`ls` is installed")
    page.get_by_role("button", name="Save correction").click()
    expect(page.get_by_role("region", name="Decision")).to_be_visible()
    assert app.get(f"/api/v1/memories/{number}")["observation"] == "`ls` is installed"
