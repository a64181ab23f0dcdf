"""The table of memories in a real browser: from a click or an address to painted rows.

Limits: 100 ms for a filter or a sort of 10,000, 300 ms from the address of 100,000, and 200 rows on
the page. The baseline is the cost of the same rows without drawing.
"""

import re
import tempfile
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from app import App  # of e2e/
from benchmarks.measure import sized, spread
from benchmarks.memory import HELD, MANY, _filled
from chromium import ARGUMENTS, executable

ROUNDS: Final = sized(9, short=2)
FILTER_MS: Final = 100
FIRST_MS: Final = 300
AT_MOST: Final = 200
FIRST: Final = """
new MutationObserver((_, watch) => {
  if (!document.querySelector("tr[data-id]")) return
  watch.disconnect()
  requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now())))
}).observe(document, {childList: true, subtree: true})
"""
AFTER: Final = """
(act) => new Promise((painted) => {
  const list = document.querySelector(".list")
  const began = performance.now()
  new MutationObserver((_, watch) => {
    if (list.getAttribute("aria-busy") === "true") return
    watch.disconnect()
    requestAnimationFrame(() => setTimeout(() => painted(performance.now() - began)))
  }).observe(list, {attributeFilter: ["aria-busy"]})
  if (act.startsWith("/")) {
    history.pushState(null, "", act)
    dispatchEvent(new Event("popstate"))
  } else document.querySelector(`th.c-${act} button`).click()
})
"""
FETCHED: Final = """
async (search) => {
  const began = performance.now()
  await (await fetch("/api/v1/memories?limit=50&" + search)).json()
  return performance.now() - began
}
"""
ACTS: Final = {
    "sort": ("category", "sort=category"),
    "turn": ("confidence", "order=asc"),
    "filter": ("/memories?category=timing&state=active", "category=timing&state=active"),
    "search": ("/memories?q=takes+77", "q=takes+77"),
    "group": ("/memories?group=service", "group=service"),
}


def run() -> dict[str, Any]:
    """Measure both sizes with one browser."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            return {
                f"of_{HELD}": _beside(HELD, browser, _acts),
                f"of_{MANY}": _beside(MANY, browser, _opened),
            }
        finally:
            browser.close()


def _beside(count: int, browser: Browser, measure: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        _filled(home / "lamplighter.db", count)
        app = App(home).start("web")
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        try:
            page = context.new_page()
            app.log_in(page)
            found: dict[str, Any] = measure(page, f"{app.url}/memories")
            return found
        finally:
            context.close()
            app.stop()


def _acts(page: Page, address: str) -> dict[str, Any]:
    found = {}
    for name, (act, search) in ACTS.items():
        ours, bare = [], []
        for _ in range(ROUNDS):
            page.goto(address)
            _settled(page)
            ours.append(page.evaluate(AFTER, act) / 1_000)
            bare.append(page.evaluate(FETCHED, search) / 1_000)
        found[name] = _judged(ours, bare, FILTER_MS)
    return found


def _opened(page: Page, address: str) -> dict[str, Any]:
    page.add_init_script(FIRST)
    ours, bare = [], []
    for _ in range(ROUNDS):
        page.goto(address)
        _settled(page)
        ours.append(page.evaluate("window.painted") / 1_000)
        bare.append(page.evaluate(FETCHED, "") / 1_000)
    return {"first_rows": _judged(ours, bare, FIRST_MS), **_scrolled(page)}


def _settled(page: Page) -> None:
    """Wait for the last request that the page makes on its own."""
    page.get_by_role("link", name=re.compile(r"Only one source \d")).wait_for()


def _scrolled(page: Page) -> dict[str, Any]:
    """Scroll through a thousand rows; return the highest number of rows on the page."""
    most = 0
    page.mouse.move(640, 500)
    for _ in range(60):
        page.mouse.wheel(0, 1_200)
        page.wait_for_timeout(50)
        most = max(most, page.locator("tr[data-id]").count())
    return {"rows_at_most": most, "rows_held": most <= AT_MOST}


def _judged(ours: list[float], bare: list[float], limit: int) -> dict[str, Any]:
    found, floor = spread(ours), spread(bare)
    ratio = round(found["p50_ms"] / floor["p50_ms"], 1)
    return {
        **found,
        "rows_alone_ms": floor["p50_ms"],
        "times_rows_alone": ratio,
        "limit_ms": limit,
        "held": found["p95_ms"] <= limit,
    }
