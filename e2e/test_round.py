"""Every page, in both themes and four widths: accessible, steady, and nothing foreign."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from app import App
from cases import contradiction

AXE = Path(__file__).parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = (
    *("/", "/sessions", "/sessions/1", "/events"),
    *("/memories", "/memories/1", "/cooldowns", "/nowhere"),
    *("/reviews", "/reviews/1", "/memories?sort=service"),
)
WIDTHS = (1280, 768, 390, 320)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"


@pytest.fixture
def filled(app: App) -> App:
    """An app with something of everything to show."""
    app.post("/api/v1/memories", {"category": "maintenance", "observation": "Vacuum on Sundays"})
    faded = {"category": "timing", "service": "old", "observation": "Took 5s", "confidence": 0.2}
    app.post("/api/v1/memories", faded)
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    app.says("[EVENT:critical:jellyfin] Connection refused on port 8096")
    app.says("[EVENT:warning] `[MEMORY:timing:a] in code` and [MEMORY:misc] refused")
    return app


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(f"axe.run(document, {{ runOnly: {RULES} }})")
    return [f"{each['id']}: {each['nodes'][0]['target']}" for each in found["violations"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_are_accessible_and_steady(browser: Browser, filled: App, theme: Any) -> None:
    wrong: list[str] = []
    for width in WIDTHS:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=theme, bypass_csp=False
        )
        context.add_init_script(SHIFTS)
        page = context.new_page()
        filled.log_in(page)
        _listen(page, filled.url, wrong)
        for path in PAGES:
            where = f"{path} {theme} {width}"
            page.goto(f"{filled.url}{path}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            page.wait_for_timeout(600)
            wrong += [f"{where}: {found}" for found in violations(page)]
            if page.evaluate("window.shifted") > 0.01:
                wrong.append(f"{where}: the layout shifts by {page.evaluate('window.shifted')}")
            if page.evaluate(OVERFLOW):
                wrong.append(f"{where}: wider than the screen")
        context.close()
    assert wrong == []


def test_dialogs_are_accessible_and_close_by_key(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/memories")
    page.get_by_role("button", name="Add Memory").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found = violations(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.goto(f"{filled.url}/sessions")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("dialog")).to_be_visible()

    assert found + violations(page) == []


def test_the_keyboard_goes_everywhere(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/sessions")
    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()

    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page).to_have_url(re.compile("/memories$"))
    page.keyboard.press("/")
    page.keyboard.type("Vacuum")

    expect(page.get_by_role("row", name=re.compile("Vacuum on Sundays"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)
    expect(page).to_have_url(re.compile("q=Vacuum"))


def test_memories_stand_between_events_and_cooldowns(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/memories")

    links = page.get_by_role("navigation").first.get_by_role("link").all_inner_texts()

    names = [re.match(r"\w+", text.strip()) for text in links]
    assert [name[0] for name in names if name] == [
        *("Overview", "Sessions", "Events", "Memories", "Cooldowns", "Reviews")
    ]


def test_inactive_memories_are_told_apart_by_a_word(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/memories")

    row = page.get_by_role("row", name=re.compile("Took 5s"))

    expect(row).to_contain_text("inactive")


def test_the_first_load_stays_small(page: Page, filled: App) -> None:
    scripts: list[Request] = []
    page.on("requestfinished", lambda ask: ask.url.endswith(".js") and scripts.append(ask))

    page.goto(f"{filled.url}/memories")
    expect(page.get_by_role("row", name=re.compile("Vacuum on Sundays"))).to_be_visible()

    sent = sum(ask.sizes()["responseBodySize"] for ask in scripts)
    assert 10_000 < sent < 80 * 1024


def _listen(page: Page, ours: str, wrong: list[str]) -> None:
    def asked(ask: Request) -> None:
        if not ask.url.startswith((ours, "data:", "blob:")):
            wrong.append(f"asks {ask.url}")

    page.on("request", asked)
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
