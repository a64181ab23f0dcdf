"""Twelve journeys of an operator with the keyboard only: no test here uses a mouse.

1. past the navigation to the content     7. settle a case and take it back
2. to every page by two keys              8. run a session
3. find a memory and read it              9. from session to session
4. correct a memory, back to its row     10. an event becomes a memory
5. write a memory                        11. anything from the palette
6. delete what is selected               12. the keys themselves
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from app import App
from cases import contradiction

FOCUSED = """() => {
  const el = document.activeElement;
  const label = el.getAttribute("aria-label") ?? el.labels?.[0]?.innerText ?? el.innerText ?? "";
  return `${el.tagName.toLowerCase()} ${label}`.replace(/\\s+/g, " ").trim();
}"""
PAGES = {
    "o": "Overview",
    "s": "Sessions",
    "e": "Events",
    "m": "Memories",
    "k": "Cooldowns",
    "r": "Reviews",
    "p": "Prompt preview|Preview",
    "h": "Health",
    ",": "Settings",
}


ESCAPE_AND_PALETTE = """() => {
  document.querySelector("dialog.palette").close();
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}));
}"""
TO_MEMORIES_AND_FILTER = """async () => {
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const field = "main [aria-label='Filter observations']";
  press("g");
  press("m");
  while (!document.querySelector(field)) await Promise.resolve();
  press("/");
  const focused = () => document.activeElement.matches("[data-filter]");
  const end = performance.now() + 10_000;
  while (performance.now() < end && !focused()) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve, 200));
  return focused();
}"""


THERE_AND_BACK = """async () => {
  document.querySelector("main a[href='/sessions/1']").click();
  history.replaceState(null, "", "/sessions");
  dispatchEvent(new PopStateEvent("popstate", {state: {y: 0, link: "/sessions/1"}}));
  const focused = () => document.activeElement.getAttribute("href");
  const end = performance.now() + 10_000;
  while (performance.now() < end && !focused()) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve, 300));
  return focused();
}"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app for all journeys; each journey uses only its own rows."""
    app = App(tmp_path_factory.mktemp("keyboard") / "home").start()
    texts = ("Vacuum on Sundays", "Needs a warm cache", "Throw this away", "Correct me")
    for text in texts:
        app.post("/api/v1/memories", {"category": "maintenance", "observation": text})
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")
    app.says("[EVENT:critical:jellyfin] Connection refused on port 8096")
    yield app
    app.stop()


@pytest.fixture
def keyboard(browser: Browser, shared: App) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    page = context.new_page()
    shared.log_in(page)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def heard(said: ConsoleMessage) -> None:
        if said.type == "error" and "404 (Not Found)" not in said.text:  # there is no session 2
            wrong.append(said.text)

    page.on("console", heard)
    yield page
    context.close()
    assert wrong == []


def at(page: Page, app: App, path: str) -> None:
    page.goto(f"{app.url}{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Press Tab until the element of this name has the focus."""
    seen = []
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        seen.append(page.evaluate(FOCUSED))
        if re.search(name, seen[-1]):
            return
    raise AssertionError(f"{name!r} is not among {seen}")


def test_a_key_skips_the_navigation(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/memories")

    press(keyboard, "Tab")
    expect(keyboard.get_by_role("link", name="Skip to content")).to_be_focused()
    press(keyboard, "Enter", "Tab")

    assert keyboard.evaluate("Boolean(document.activeElement.closest('main'))")


def test_two_keys_open_every_page(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/nowhere")
    for key, name in PAGES.items():
        press(keyboard, "g", key)
        heading = keyboard.get_by_role("heading", name=re.compile(f"^({name})"), level=1)
        expect(heading).to_be_focused()


def test_a_memory_is_found_and_read_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/overview")

    press(keyboard, "g", "m")
    expect(keyboard.get_by_role("heading", name="Memories", level=1)).to_be_focused()
    press(keyboard, "/")
    keyboard.keyboard.type("warm cache")
    expect(keyboard.get_by_role("row", name=re.compile("Vacuum"))).to_have_count(0)
    press(keyboard, "Tab")
    tab_to(keyboard, "^a Needs a warm cache")
    press(keyboard, "Enter")

    panel = keyboard.get_by_role("complementary", name="Memory")
    expect(panel.get_by_role("heading", name="Needs a warm cache")).to_be_focused()


def test_a_memory_is_corrected_by_keys_and_the_focus_returns_to_its_row(
    keyboard: Page, shared: App
) -> None:
    [memory] = shared.get("/api/v1/memories?q=Correct+me")["items"]
    at(keyboard, shared, f"/memories/{memory['id']}")
    field = keyboard.get_by_role("textbox", name="Observation")
    expect(field).to_be_visible()

    tab_to(keyboard, "^textarea Observation")
    press(keyboard, "Control+a")
    keyboard.keyboard.type("Corrected by hand")
    tab_to(keyboard, "^button Save")
    press(keyboard, "Enter")
    row = keyboard.get_by_role("row", name=re.compile("Corrected by hand"))
    expect(row).to_be_visible()
    press(keyboard, "Escape")

    expect(row.get_by_role("link", name="Corrected by hand")).to_be_focused()
    assert shared.get(f"/api/v1/memories/{memory['id']}")["observation"] == "Corrected by hand"


def test_a_memory_is_added_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/overview")

    press(keyboard, "n")
    dialog = keyboard.get_by_role("dialog")
    expect(dialog).to_be_visible()
    tab_to(keyboard, "^textarea")
    keyboard.keyboard.type("Written without a mouse")
    tab_to(keyboard, "^button Save")
    press(keyboard, "Enter")

    expect(dialog).to_have_count(0)
    assert shared.get("/api/v1/memories?q=without+a+mouse")["total"] == 1


def test_selected_memories_are_deleted_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/memories?q=Throw")
    expect(keyboard.get_by_role("row", name=re.compile("Throw this away"))).to_be_visible()

    press(keyboard, "j", "x")
    expect(keyboard.get_by_text("1 selected")).to_be_visible()
    tab_to(keyboard, "^button Delete Selected", back=True)
    press(keyboard, "Enter")
    expect(keyboard.get_by_role("dialog")).to_be_visible()
    tab_to(keyboard, "^button Delete")
    press(keyboard, "Enter")

    expect(keyboard.get_by_role("row", name=re.compile("Throw this away"))).to_have_count(0)
    assert shared.get("/api/v1/memories?q=Throw")["total"] == 0


def test_a_review_is_resolved_and_reverted_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/reviews")
    expect(keyboard.get_by_role("row").or_(keyboard.get_by_role("listitem")).first).to_be_visible()

    press(keyboard, "j", "Enter")
    expect(keyboard.get_by_role("button", name=re.compile("Keep new"))).to_be_visible()
    press(keyboard, "a")
    expect(keyboard.get_by_role("button", name="Undo decision")).to_be_enabled()
    press(keyboard, "z")

    expect(keyboard.get_by_text("The review is open again.").first).to_be_visible()
    assert shared.get("/api/v1/reviews?state=open")["total"] == 1


def test_a_session_is_started_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/sessions")

    press(keyboard, "r")
    dialog = keyboard.get_by_role("dialog")
    expect(dialog).to_be_visible()
    press(keyboard, "ArrowRight")
    tab_to(keyboard, "^textarea")
    keyboard.keyboard.type("Look at the logs")
    tab_to(keyboard, "^button Run now")
    press(keyboard, "Enter")

    expect(dialog).to_have_count(0)
    [asked] = shared.get("/api/v1/requests?state=queued")["items"]
    assert asked["prompt"] == "Look at the logs"


def test_keys_move_from_session_to_session(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/sessions/1")
    expect(keyboard.get_by_role("button", name="Stop", exact=True)).to_be_visible()

    press(keyboard, "]")
    expect(keyboard).to_have_url(re.compile("/sessions/2$"))
    press(keyboard, "[")
    expect(keyboard).to_have_url(re.compile("/sessions/1$"))
    press(keyboard, "g", "s")

    expect(keyboard.get_by_role("heading", name="Sessions", level=1)).to_be_focused()


def test_an_event_is_saved_as_a_memory_by_keys(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/events")
    expect(keyboard.get_by_text("Connection refused on port 8096").first).to_be_visible()

    tab_to(keyboard, "^button Create memory")
    press(keyboard, "Enter")
    dialog = keyboard.get_by_role("dialog")
    expect(dialog).to_be_visible()
    tab_to(keyboard, "^button Save")
    press(keyboard, "Enter")

    expect(dialog).to_have_count(0)
    assert shared.get("/api/v1/memories?q=Connection+refused")["total"] == 1


def test_the_palette_offers_pages_and_commands(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/memories")
    press(keyboard, "/", "Control+k")
    field = keyboard.get_by_role("combobox", name=re.compile("Find"))
    expect(field).to_be_focused()
    found = keyboard.get_by_role("listbox", name="Results").get_by_role("option")
    expect(found.first).to_have_attribute("aria-selected", "true")
    press(keyboard, "Escape")
    expect(keyboard.get_by_role("searchbox", name="Filter observations")).to_be_focused()

    press(keyboard, "Control+k")
    keyboard.keyboard.type("vacuum")
    expect(found.filter(has_text="Vacuum on Sundays")).to_have_attribute("aria-selected", "true")
    press(keyboard, "Enter")
    panel = keyboard.get_by_role("complementary", name="Memory")
    expect(panel.get_by_role("heading", name="Vacuum on Sundays")).to_be_focused()

    press(keyboard, "Control+k")
    keyboard.keyboard.type("session 1")
    press(keyboard, "Enter")
    expect(keyboard.get_by_role("heading", name="Session 1", level=1)).to_be_focused()
    press(keyboard, "Control+k", "ArrowDown", "ArrowUp")
    keyboard.keyboard.type("pause")
    press(keyboard, "Enter")
    expect(keyboard.get_by_text("Paused", exact=True)).to_be_visible()


def test_keyboard_shortcuts_are_listed_and_can_be_turned_off(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/memories")

    press(keyboard, "?")
    expect(keyboard.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    tab_to(keyboard, "^input Single-key shortcuts")
    press(keyboard, "Space", "Escape", "g", "e")
    expect(keyboard.get_by_role("dialog")).to_have_count(0)
    expect(keyboard).to_have_url(re.compile("/memories$"))

    press(keyboard, "Control+k")
    keyboard.keyboard.type("shortcuts on")
    press(keyboard, "Enter")
    expect(keyboard.get_by_role("dialog")).to_have_count(0)
    press(keyboard, "g", "e")
    expect(keyboard).to_have_url(re.compile("/events$"))


@pytest.mark.parametrize("path", ["/memories", "/memories/1", "/reviews/1", "/sessions/1"])
def test_no_key_has_two_meanings_on_one_page(keyboard: Page, shared: App, path: str) -> None:
    at(keyboard, shared, path)
    keyboard.wait_for_timeout(300)

    press(keyboard, "?")
    expect(keyboard.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()

    here = keyboard.get_by_role("region", name="On this page").get_by_role("term")
    keys = [" ".join(each.split()) for each in here.all_inner_texts()]
    assert len(keys) > 10
    assert sorted(keys) == sorted(set(keys))


def test_the_palette_opens_again_before_the_browser_reports_that_it_closed(
    keyboard: Page, shared: App
) -> None:
    at(keyboard, shared, "/memories")
    palette = keyboard.get_by_role("dialog", name=re.compile("Find a page"))
    keyboard.keyboard.press("Control+k")
    expect(palette).to_be_visible()

    keyboard.evaluate(ESCAPE_AND_PALETTE)
    keyboard.wait_for_timeout(300)

    expect(palette).to_be_visible()
    keyboard.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_an_opening_page_leaves_the_focus_in_its_filter(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/sessions")
    assert keyboard.evaluate(TO_MEMORIES_AND_FILTER)


def test_after_a_short_visit_back_restores_the_focus_to_its_link(
    keyboard: Page, shared: App
) -> None:
    at(keyboard, shared, "/sessions")
    assert keyboard.evaluate(THERE_AND_BACK) == "/sessions/1"


def test_back_from_a_memory_returns_the_focus_to_its_row(keyboard: Page, shared: App) -> None:
    at(keyboard, shared, "/memories?q=warm")
    link = keyboard.get_by_role("link", name="Needs a warm cache")
    link.focus()
    press(keyboard, "Enter")
    panel = keyboard.get_by_role("complementary", name="Memory")
    expect(panel.get_by_role("heading", name="Needs a warm cache")).to_be_focused()

    keyboard.go_back()

    expect(panel).to_have_count(0)
    expect(link).to_be_focused()
