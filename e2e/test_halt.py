"""One button halts everything; one button resumes."""

import re

import pytest
from playwright.sync_api import Page, expect

from app import App

MAIN = re.compile("button--main")


def stop(page: Page, reason: str) -> None:
    page.get_by_role("button", name="Halt").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason (visible to everyone)").fill(reason)
    dialog.get_by_role("button", name="Halt").click()
    expect(dialog).to_have_count(0)


def test_a_button_halts_and_resumes(page: Page, app: App) -> None:
    app.says("At work.")
    page.goto(f"{app.url}/sessions/1")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()

    stop(page, "The array rebuilds")

    banner = page.get_by_role("region", name="Halted")
    expect(banner).to_contain_text("The array rebuilds")
    expect(page.get_by_role("button", name="Halt")).to_be_focused()
    expect(page.get_by_label("Live updates and supervisor")).to_contain_text("Halted")
    expect(page.get_by_label("Outcome")).to_contain_text("The array rebuilds", timeout=15_000)
    page.goto(f"{app.url}/overview")
    expect(page.get_by_text("Halted: services are not being checked.")).to_be_visible()

    run_now = page.get_by_role("button", name="Run now").first
    expect(run_now).not_to_have_class(MAIN)
    run_now.click()
    expect(page.get_by_role("dialog")).to_contain_text("stays queued until you resume")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("Resume")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(banner).to_have_count(0)
    expect(run_now).to_have_class(MAIN)
    assert app.get("/api/v1/halt")["halted"] is False


@pytest.mark.parametrize("width", [1280, 390])
def test_the_focus_stays_on_the_page_when_its_banner_ends(page: Page, app: App, width: int) -> None:
    app.post("/api/v1/halt", {"reason": "The array rebuilds"}, method="PUT")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{app.url}/memories")
    page.get_by_role("region", name="Halted").get_by_role("button", name="Resume").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Resume")).to_be_focused()

    page.keyboard.press("Enter")

    expect(page.get_by_role("region", name="Halted")).to_have_count(0)
    expect(page.get_by_role("button", name="Halt")).to_be_focused()


def test_a_halt_by_file_names_the_file_to_remove(page: Page, app: App) -> None:
    page.goto(f"{app.url}/memories")
    (app.home / "HALT").write_text("Nobody touches anything today")

    banner = page.get_by_role("region", name="Halted")
    expect(banner).to_contain_text("Nobody touches anything today", timeout=15_000)
    expect(banner).to_contain_text(str(app.home / "HALT"))
    expect(banner.get_by_role("button", name=re.compile("Resume"))).to_have_count(0)

    (app.home / "HALT").unlink()
    expect(banner).to_have_count(0, timeout=15_000)
