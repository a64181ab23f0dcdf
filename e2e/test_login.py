"""Login and logout of a person in a browser."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from app import App
from test_round import OVERFLOW, RULES, violations

pytestmark = pytest.mark.web_alone

WIDTHS = (320, 390, 1280)


@pytest.fixture
def expected() -> set[int]:
    return {401}


def typed(page: Page, code: str) -> None:
    page.get_by_label("One-time code").fill(code)
    page.get_by_role("button", name="Log in").click()


def test_the_login_link_opens_the_app(browser: Browser, app: App) -> None:
    context = browser.new_context()
    page = context.new_page()

    page.goto(app.link())

    expect(page.get_by_role("heading", name="Overview")).to_be_attached()
    assert page.url == f"{app.url}/overview"
    assert context.cookies()[0]["sameSite"] == "Strict"
    context.close()


def test_a_logout_in_one_tab_logs_out_the_other_and_a_code_logs_in(page: Page, app: App) -> None:
    page.goto(f"{app.url}/memories?category=timing")
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    other = page.context.new_page()
    other.goto(f"{app.url}/sessions")
    expect(other.get_by_role("heading", name="Sessions", level=1)).to_be_visible()

    other.get_by_role("button", name="Log out").click()

    expect(other.get_by_role("heading", name="Log in")).to_be_visible()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url == f"{app.url}/memories?category=timing"

    typed(page, "this is not a code")
    expect(page.get_by_role("alert")).to_contain_text("invalid or expired")
    typed(page, app.link().partition("=")[2].upper())

    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    assert page.url == f"{app.url}/memories?category=timing"
    other.close()


def test_a_link_from_another_site_opens_the_app_if_logged_in(page: Page, app: App) -> None:
    page.goto(f"http://localhost:{app.port}/")  # another site, as browsers see it
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    faces = "document.fonts.ready.then((all) => [...all].map((each) => each.family + each.status))"
    assert page.evaluate(faces) == ["Interloaded"]  # the typeface of the app, by its policy

    page.evaluate(f"location.href = '{app.url}/events'")

    expect(page.get_by_role("heading", name="Events", exact=True)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_login_page_is_accessible(browser: Browser, app: App, theme: Any) -> None:
    for width in WIDTHS:
        context = browser.new_context(
            viewport={"width": width, "height": 700}, color_scheme=theme, bypass_csp=True
        )
        page = context.new_page()
        for path in ("/memories", "/login?code=wrong"):
            page.goto(f"{app.url}{path}")
            expect(page.get_by_label("One-time code")).to_be_focused()
            assert violations(page, RULES) == []
            assert not page.evaluate(OVERFLOW)
        context.close()
