"""The app in a pseudo-language: sentences a third longer, in brackets; nothing is cut off."""

import subprocess
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Page, Route, expect

from app import App
from cases import contradiction

pytestmark = pytest.mark.web_alone

FRONTEND: Final = Path(__file__).parents[1] / "frontend"
BUILD: Final = ("node_modules/.bin/vite", "build", "--mode", "pseudo", "--logLevel", "silent")
PLACES: Final = (
    *("/overview", "/sessions", "/events", "/memories", "/memories/1", "/cooldowns", "/reviews"),
    *("/reviews/1", "/preview", "/health", "/settings", "/nowhere"),
)
OVERFLOW: Final = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
CUT: Final = """() => [...document.querySelectorAll("button, a, h1, h2, h3, label, p, summary")]
  .filter((el) => el.checkVisibility() && el.innerText.includes("\\u27e6") && el.clientWidth > 1)
  .filter((el) => getComputedStyle(el).overflow === "hidden")
  .filter((el) => getComputedStyle(el).textOverflow !== "ellipsis")
  .filter((el) => el.scrollWidth > el.clientWidth + 1 || el.scrollHeight > el.clientHeight + 1)
  .map((el) => el.innerText.slice(0, 80))"""
BEYOND: Final = """() => [...document.querySelectorAll("body *")]
  .filter((el) => el.checkVisibility() && el.getBoundingClientRect().width > 1)
  .filter((el) => el.getBoundingClientRect().right > innerWidth + 1)
  .filter((el) => ![...document.querySelectorAll("main *")].some(
    (box) => box.contains(el) && box.scrollWidth > box.clientWidth &&
      ["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(box).overflowX)))
  .map((el) => el.outerHTML.slice(0, 80)).slice(0, 3)"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the app, built in the pseudo-language."""
    place = tmp_path_factory.mktemp("foreign")
    words = [*BUILD, "--outDir", str(place), "--emptyOutDir"]
    subprocess.run(words, cwd=FRONTEND, check=True, timeout=60)
    return place


def test_no_sentence_is_cut_off_on_a_phone(page: Page, app: App, foreign: Path) -> None:
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(app.url).lstrip("/")
        if name.startswith("api/"):
            return route.continue_()
        return route.fulfill(path=foreign / (name if "assets/" in name else "index.html"))

    page.route(f"{app.url}/**", answer)
    page.set_viewport_size({"width": 390, "height": 800})
    wrong = []
    for path in PLACES:
        page.goto(f"{app.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("navigation").first).to_contain_text("\u27e6")
        page.wait_for_timeout(200)
        wrong += [f"{path}: cut off: {each}" for each in page.evaluate(CUT)]
        if page.evaluate(OVERFLOW):
            wrong.append(f"{path}: wider than the screen: {page.evaluate(BEYOND)}")
    assert wrong == []
