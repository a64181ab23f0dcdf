"""Every page, menu and dialog, in both themes and four widths: accessible and stable."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from app import App
from cases import client_session, contradiction
from thorough import ALL

AXE: Final = (
    Path(__file__).parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
).read_text()
PAGES: Final = (
    *("/", "/sessions", "/sessions/1", "/sessions/1?part=told", "/events"),
    *("/memories", "/memories/1", "/memories?sort=service", "/cooldowns", "/reviews", "/trash"),
    *("/reviews/1", "/approvals", "/preview", "/health", "/settings", "/nowhere"),
    *("/graph", "/graph/1", "/incidents", "/services/jellyfin"),
    *("/editor", "/editor?service=jellyfin", "/editor?new=1"),
    *("/organizer", "/organizer/1", "/notebook", "/audit?topic=jellyfin"),
    "/notebook?page=services/jellyfin",
    *(
        "/search",
        "/search?q=vacuum+jellyfin&layers=memory,event",
        "/search/1?q=vacuum",
        "/sessions/2",
    ),
)
WIDTHS: Final = (1280, 768, 390, 320)
NAMED: Final = WIDTHS if ALL else (1280, 390)
"""The widths at which the accessibility rules also run; size and place rules run at each."""
COLOURS: Final = ["color-contrast", "link-in-text-block"]  # what another theme changes
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
THEMES: Final[tuple[tuple[Literal["light", "dark"], list[str]], ...]] = (
    ("dark", COLOURS),
    ("light", RULES),
)
SHIFTS: Final = """
window.shifted = 0;
window.moved = [];
const named = (node) => node?.parentElement?.outerHTML.slice(0, 120) ?? "something that is gone";
new PerformanceObserver((list) => {
  for (const entry of list.getEntries().filter((each) => !each.hadRecentInput)) {
    window.shifted += entry.value;
    for (const { node, previousRect: was, currentRect: is } of entry.sources)
      window.moved.push(`${was.x},${was.y} to ${is.x},${is.y}: ${named(node)}`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
# Answers come in another order than they were asked for.
LATE: Final = """
const ask = window.fetch;
const hashed = (text) =>
  [...text].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619), 2166136260);
window.fetch = async (what, how) => {
  const { pathname, search } = new URL(what.url ?? what, location.href);
  const ms = [0, 60, 150, 250][(hashed(pathname + search) >>> 13) % 4];
  await new Promise((go) => setTimeout(go, ms));
  return ask(what, how);
};
"""
# A browser may paint any beginning of a page: what comes later moves nothing that is there.
CUT: Final = """() => {
  const parts = [...document.querySelectorAll(".side > *, .nav > *")].filter(
    (el) => el.checkVisibility() && !el.matches(".nav"),
  );
  const places = (upTo) => parts.slice(0, upTo).map((el) => {
    const { x, y } = el.getBoundingClientRect();
    return `${Math.round(x)},${Math.round(y)} ${el.className || el.getAttribute("href")}`;
  });
  const whole = places(parts.length);
  const moved = new Set();
  for (let upTo = 1; upTo < parts.length; upTo++) {
    parts.slice(upTo).forEach((el) => (el.style.display = "none"));
    places(upTo).forEach((at, index) => {
      if (at !== whole[index]) moved.add(`${whole[index]} was at ${at}`);
    });
    parts.forEach((el) => (el.style.display = ""));
  }
  return [...moved];
}"""
OVERFLOW: Final = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
SETTLED: Final = "() => !document.querySelector('main [aria-busy=true]')"

# WCAG 2.2, 2.5.8: 24 by 24 pixels, or 24 pixels around its middle that no other target reaches.
# Links in a sentence are free, and the numbers of lines, as high as their lines; what a label
# makes larger is as large as the label.
SMALL: Final = """() => {
  const all = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=option]";
  const box = (el) => ((el.matches("input") && el.closest("label")) || el).getBoundingClientRect();
  const clipped = (el) =>
    el && (getComputedStyle(el).clipPath !== "none" || clipped(el.parentElement));
  const inSentence = (el) =>
    el.matches("a, button.link") && getComputedStyle(el).display.startsWith("inline");
  const taken = (el) => {
    el.scrollIntoView({ block: "center" });
    const { x, y, width, height } = box(el);
    return [[0, -11], [0, 11], [-11, 0], [11, 0]].some(([dx, dy]) => {
      const hit = document.elementFromPoint(x + width / 2 + dx, y + height / 2 + dy)?.closest(all);
      return hit && !hit.contains(el) && !el.contains(hit);
    });
  };
  const small = [...(document.querySelector("dialog:modal") ?? document).querySelectorAll(all)]
    .filter((el) => el.checkVisibility({ visibilityProperty: true }) && box(el).width > 1)
    .filter((el) => box(el).width < 23.9 || box(el).height < 23.9)
    .filter((el) => !inSentence(el) && !clipped(el) && !el.matches(".line-number") && taken(el))
    .map((el) => el.outerHTML.slice(0, 90));
  scrollTo(0, 0);
  return small;
}"""


# What a bar at the edge of the window covers is a target once it is scrolled to.
ALONE: Final = """async (only) => {
  const found = await axe.run(document, only);
  const rule = found.violations.find((each) => each.id === "target-size");
  for (const node of rule?.nodes ?? []) {
    document.querySelector(node.target[0]).scrollIntoView({ block: "center" });
    const again = await axe.run(node.target, { runOnly: ["target-size"] });
    if (!again.violations.length) rule.nodes = rule.nodes.filter((each) => each !== node);
  }
  if (rule) scrollTo(0, 0);
  return { violations: found.violations.filter((each) => each.nodes.length) };
}"""


@pytest.fixture
def filled(app: App) -> App:
    """An app with rows of every kind."""
    app.post("/api/v1/memories", {"category": "maintenance", "observation": "Vacuum on Sundays"})
    faded = {"category": "timing", "service": "old", "observation": "Took 5s", "confidence": 0.2}
    app.post("/api/v1/memories", faded)
    ends = [
        app.post("/api/v1/entities", {"name": name, "kind": kind})["id"]
        for name, kind in (("Checkout", "service"), ("Redis", "tool"))
    ]
    app.post("/api/v1/relationships", {"source_id": ends[0], "kind": "uses", "target_id": ends[1]})
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    app.says("[EVENT:critical:jellyfin] Connection refused on port 8096")
    app.says("[EVENT:warning] `[MEMORY:timing:a] in code` and [MEMORY:misc] refused")
    deleted = app.post("/api/v1/memories", {**faded, "observation": "Runs on the old rack"})["id"]
    app.post("/api/v1/memories/bulk", {"ids": [deleted], "action": "delete"})
    app.post("/api/v1/organizer/runs", {})
    client_session(app, "till", "Keep the vacuum of the shop on Sundays", topic_key="shop/vacuum")
    return app


def violations(page: Page, rules: list[str]) -> list[str]:
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE)
    # no rule reads what a preload fetches: there are no films and no sounds
    only = {"runOnly": rules, "resultTypes": ["violations"], "preload": False}
    found: dict[str, Any] = page.evaluate(ALONE, only)
    return [f"{each['id']}: {each['nodes'][0]['target']}" for each in found["violations"]]


def misplaced(page: Page, where: str) -> list[str]:
    """Return the problems of size: elements that are too small, a page that is too wide."""
    wrong = [f"{where}: too small to hit: {each}" for each in page.evaluate(SMALL)]
    return [*wrong, f"{where}: wider than the screen"] if page.evaluate(OVERFLOW) else wrong


def looked_at(page: Page, where: str) -> list[str]:
    """Return the problems of the current page, in both themes."""
    wrong = misplaced(page, where)
    for theme, rules in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        wrong += [f"{where} {theme}: {found}" for found in violations(page, rules)]
    return wrong


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_are_accessible_and_stable(browser: Browser, filled: App, width: int) -> None:
    wrong: list[str] = []
    page = _browser_of(browser, filled, width, wrong)
    if width == 768:
        page.add_init_script(LATE)
    for path in PAGES:
        where = f"{path} {width}"
        page.goto(f"{filled.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_function(SETTLED)
        page.wait_for_timeout(300)
        shifted = page.evaluate("window.shifted")
        if shifted > 0.01:
            moved = page.evaluate("window.moved")
            wrong.append(f"{where}: the layout shifts by {shifted}: {moved}")
        wrong += (looked_at if width in NAMED else misplaced)(page, where)
    page.context.close()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("late", ["open", "all"])
def test_approvals_do_not_move_when_either_half_loads_late(
    browser: Browser, filled: App, late: str
) -> None:
    wrong: list[str] = []
    page = _browser_of(browser, filled, 320, wrong)

    def wait(route: Route) -> None:
        # both come after the page was painted
        page.wait_for_timeout(
            500 if ("state=open" in route.request.url) == (late == "open") else 200
        )
        route.continue_()

    page.route("**/api/v1/approvals?**", wait)
    page.goto(f"{filled.url}/approvals")
    expect(page.get_by_text("No approvals waiting")).to_be_visible()
    page.wait_for_timeout(300)

    assert page.evaluate("window.shifted") <= 0.01, page.evaluate("window.moved")
    assert not wrong
    page.context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_frame_does_not_move_while_the_page_loads(
    browser: Browser, app: App, width: int
) -> None:
    wrong: list[str] = []
    page = _browser_of(browser, app, width, wrong)
    page.goto(f"{app.url}/events")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_function(SETTLED)

    assert page.evaluate(CUT) == []
    assert not wrong
    page.context.close()


def _open_memory_form(page: Page) -> None:
    page.get_by_role("button", name="Add Memory").first.click()


def _open_run(page: Page) -> None:
    page.get_by_role("button", name="Run now").first.click()


def _open_palette(page: Page) -> None:
    page.get_by_role("button", name="Find", exact=True).click()
    page.keyboard.type("memory 1")


def _open_help(page: Page) -> None:
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    page.get_by_text("On other pages").click()


def _open_question(page: Page) -> None:
    page.get_by_role("button", name="Delete", exact=True).click()


def _open_stop(page: Page) -> None:
    page.get_by_role("button", name="Halt").click()


OPENED: Final[tuple[tuple[str, Callable[[Page], None]], ...]] = (
    ("/memories", _open_memory_form),
    ("/sessions", _open_run),
    ("/events", _open_palette),
    ("/reviews/1", _open_help),
    ("/memories/1", _open_question),
    ("/cooldowns", _open_stop),
)


@pytest.mark.parametrize("width", [1280, 390])
def test_menus_and_dialogs_are_accessible_and_return_the_focus(
    browser: Browser, filled: App, width: int
) -> None:
    wrong: list[str] = []
    page = _browser_of(browser, filled, width, wrong)
    for path, opens in OPENED:
        page.goto(f"{filled.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        opens(page)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        page.wait_for_timeout(200)
        wrong += looked_at(page, f"{opens.__name__} {width}")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        if page.evaluate("document.activeElement === document.body") and path != "/reviews/1":
            wrong.append(f"{opens.__name__}: nothing has the focus")
    page.context.close()
    assert not wrong, "\n".join(wrong)


def test_keys_open_and_filter_the_memories(page: Page, filled: App) -> None:
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


def test_memories_are_between_events_and_cooldowns(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/memories")

    links = page.get_by_role("navigation").first.get_by_role("link").all_inner_texts()

    names = [re.match(r"\w+", text.strip()) for text in links]
    assert [name[0] for name in names if name] == [
        *("Overview", "Incidents", "Sessions", "Events", "Memories", "Cooldowns", "Reviews"),
        *("Search", "Graph", "Notebook", "Organizer", "Approvals", "Preview", "Health", "Settings"),
    ]


def test_inactive_memories_are_labeled(page: Page, filled: App) -> None:
    page.goto(f"{filled.url}/memories")

    row = page.get_by_role("row", name=re.compile("Took 5s"))

    expect(row).to_contain_text("inactive")


def test_the_first_load_is_small(page: Page, filled: App) -> None:
    scripts: list[Request] = []
    page.on("requestfinished", lambda ask: scripts.extend([ask] if ask.url.endswith(".js") else []))

    page.goto(f"{filled.url}/memories")
    expect(page.get_by_role("row", name=re.compile("Vacuum on Sundays"))).to_be_visible()

    sent = sum(ask.sizes()["responseBodySize"] for ask in scripts)
    assert 10_000 < sent < 80_000


def _browser_of(browser: Browser, app: App, width: int, wrong: list[str]) -> Page:
    """Return a page of a fresh browser that reports every foreign request and every error."""
    context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    context.add_init_script(SHIFTS)
    page = context.new_page()
    app.log_in(page)
    _listen(page, app.url, wrong)
    return page


def _listen(page: Page, ours: str, wrong: list[str]) -> None:
    def asked(ask: Request) -> None:
        if not ask.url.startswith((ours, "data:", "blob:")):
            wrong.append(f"asks {ask.url}")

    page.on("request", asked)
    page.on("console", lambda said: wrong.extend([said.text] if said.type == "error" else []))


def test_the_header_of_a_phone_truncates_no_word(page: Page, app: App) -> None:
    page.goto(f"{app.url}/events")
    head = page.get_by_role("region", name="Live updates")

    def whole(words: str) -> bool:
        line = head.get_by_text(re.compile(f"^{words}"))
        fits = []
        for width in (390, 360, 320):
            page.set_viewport_size({"width": width, "height": 800})
            expect(line).to_be_visible()
            fits.append(line.evaluate("(el) => el.scrollWidth <= el.clientWidth"))
        return all(fits)

    assert whole("Round running")
    app.ends()
    assert whole("Round in ")
    app.kill("supervisor")
    assert whole("No supervisor$")
