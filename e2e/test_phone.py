"""On a phone: approvals are first in the bar, and filters are folded until opened."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_events_page import report
from test_round import looked_at

pytestmark = pytest.mark.web_alone


def picture(page: Page, name: str) -> None:
    """Store a screenshot if a person requested screenshots."""
    if directory := os.environ.get("PICTURES"):
        page.screenshot(path=Path(directory) / f"{name}.png")


def test_approvals_are_first_in_the_bar_of_a_phone(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{app.url}/overview")
    menu = page.get_by_role("navigation", name="Main")

    first = menu.get_by_role("link", name="Approvals")
    boxes = [each.bounding_box() for each in (first, menu.get_by_role("link", name="Overview"))]
    left, right = (box["x"] if box else -1 for box in boxes)
    assert 0 <= left < right
    expect(menu.get_by_role("link", name="Reviews")).to_be_hidden()
    menu.get_by_role("button", name="More").click()
    menu.get_by_role("link", name="Reviews").click()
    expect(page.get_by_role("heading", name="Reviews", level=1)).to_be_visible()
    menu.get_by_role("link", name="Approvals").click()
    expect(page.get_by_role("heading", name="Approvals", level=1)).to_be_visible()
    picture(page, "approvals")


OVERLAPS = """() => {
  const all = [...document.querySelectorAll(".nav :is(a, button)")];
  const words = all.filter((el) => el.checkVisibility());
  const boxes = words.map((el) => el.querySelector("span").getBoundingClientRect());
  return words.filter((el, i) => boxes.some((box, j) => j !== i
    && box.left < boxes[i].right && boxes[i].left < box.right
    && box.top < boxes[i].bottom && boxes[i].top < box.bottom))
    .map((el) => el.textContent.trim());
}"""


@pytest.mark.parametrize("width", [390, 320])
def test_the_open_navigation_of_a_phone_shows_every_word_separately(
    page: Page, app: App, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{app.url}/overview")
    menu = page.get_by_role("navigation", name="Main")
    menu.get_by_role("button", name="More").click()
    expect(menu.get_by_role("link", name="Settings")).to_be_visible()

    assert page.evaluate(OVERLAPS) == []
    assert not looked_at(page, f"more {width}")


@pytest.mark.parametrize(
    ("path", "filters"),
    [("sessions", "Status"), ("events", "Service"), ("memories", "Section")],
)
def test_filters_are_collapsed_and_active_ones_visible(
    page: Page, app: App, path: str, filters: str
) -> None:
    report(app)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{app.url}/{path}")
    bar = page.get_by_role("search")
    one = bar.get_by_label(filters)
    folded = bar.get_by_role("checkbox", name="Filters")
    expect(folded).to_be_attached()
    expect(one).to_be_hidden()
    assert not looked_at(page, f"{path} folded")
    picture(page, f"{path}-folded")

    bar.get_by_text("Filters", exact=True).click()

    expect(one).to_be_visible()
    assert not looked_at(page, f"{path} open")
    picture(page, f"{path}-open")
    one.select_option(index=1)
    expect(page).to_have_url(re.compile(f"{filters.lower()}="))
    bar.get_by_text("Filters", exact=True).click()
    expect(one).to_be_visible()
    expect(bar.get_by_role("button", name="Clear filters")).to_be_visible()

    page.set_viewport_size({"width": 1280, "height": 800})
    expect(bar.get_by_text("Filters", exact=True)).to_be_hidden()
    expect(one).to_be_visible()
