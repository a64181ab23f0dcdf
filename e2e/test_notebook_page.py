"""The Notebook page: pages are read, edited, compared, and decided on."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from app import App
from test_round import SHIFTS

OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ADDRESS = "/notebook?page=services%2Fjellyfin"
HOSTILE = "Answers <img src=x onerror=document.title='hacked'> in **60s**"


def remember(app: App, *texts: str) -> None:
    for each in texts:
        body = {"category": "timing", "service": "jellyfin", "observation": each}
        app.post("/api/v1/memories", body)


def page_file(app: App) -> Path:
    return app.home / "notebook" / "services" / "jellyfin.md"


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def written(app: App, text: str) -> None:
    """Wait until the notebook has written a service's page with this text."""
    wait_until(lambda: page_file(app).exists() and text in page_file(app).read_text())


def test_the_text_does_not_move_when_the_list_or_the_page_loads_late(page: Page, app: App) -> None:
    remember(app, "Takes 60s to start")
    wait_until((app.home / "notebook" / "MEMORY.md").exists)
    page.set_viewport_size({"width": 768, "height": 800})
    page.add_init_script(SHIFTS)

    def wait(route: Route) -> None:
        page.wait_for_timeout(700)  # the other half is painted before
        route.continue_()

    for late in (r"/api/v1/notebook$", r"/api/v1/notebook/"):
        page.route(re.compile(late), wait)
        page.goto(f"{app.url}/notebook")
        expect(page.get_by_role("link", name="MEMORY.md")).to_be_visible()
        expect(page.get_by_role("region", name="Page", exact=True)).to_contain_text("Memor")
        page.wait_for_timeout(300)
        assert page.evaluate("window.shifted") <= 0.01, page.evaluate("window.moved")
        page.unroute(re.compile(late), wait)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_read_edited_and_saved(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    remember(app, HOSTILE, "Takes 60s to start")
    written(app, "Takes 60s")
    page.goto(f"{app.url}/notebook")
    tree = page.get_by_role("navigation", name="Pages")
    tree.get_by_role("link", name="jellyfin.md").focus()
    page.keyboard.press("Enter")

    shown = page.get_by_role("region", name="Page", exact=True)
    expect(shown.get_by_role("heading", name="services/jellyfin.md")).to_be_visible()
    expect(shown).to_contain_text("<img src=x")
    assert page.locator(".md img").count() == 0
    expect(shown.get_by_role("link", name="#2")).to_have_attribute("href", "/memories/2")

    shown.get_by_role("button", name="Edit").click()
    field = shown.get_by_role("textbox")
    field.fill(field.input_value().replace("Takes 60s", "Takes 90s") + "- [timing] Logs at noon\n")
    expect(shown.get_by_role("region", name="Preview")).to_contain_text("Logs at noon")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Saved. 2 memories changed.")).to_be_visible()
    expect(page.locator("h2.notebook-title")).to_be_focused()
    expect(shown).to_contain_text("Takes 90s")
    assert app.get("/api/v1/memories/2")["observation"] == "Takes 90s to start"
    assert app.get("/api/v1/memories?q=Logs")["total"] == 1
    shown.get_by_role("button", name="Changes").click()
    expect(shown.get_by_label("Changes")).to_contain_text("Logs at noon")
    assert page.evaluate(OVER) <= 0


def test_a_page_that_changed_on_disk_keeps_both_edits(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    remember(app, "Takes 60s to start", "Needs redis")
    written(app, "redis")
    page.goto(f"{app.url}{ADDRESS}")
    shown = page.get_by_role("region", name="Page", exact=True)
    shown.get_by_role("button", name="Edit").click()
    field = shown.get_by_role("textbox")
    field.fill(field.input_value().replace("60s", "90s"))
    app.ends()
    wait_until(lambda: app.get("/api/v1/sessions/1")["status"] != "running")
    page_file(app).write_text(page_file(app).read_text().replace("redis", "valkey"))
    wait_until(lambda: app.get("/api/v1/memories/2")["observation"] == "Needs valkey")

    shown.get_by_role("button", name="Save").click()
    clash = shown.get_by_role("alert", name="The page changed on disk")
    expect(clash.get_by_label("On disk")).to_contain_text("valkey")
    expect(clash.get_by_label("Yours")).to_contain_text("90s")
    assert "90s" in field.input_value()
    clash.get_by_role("button", name="Combine both").click()
    expect(clash).to_be_hidden()
    shown.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. 1 memory changed.")).to_be_visible()

    texts = {n: app.get(f"/api/v1/memories/{n}")["observation"] for n in (1, 2)}
    assert texts == {1: "Takes 90s to start", 2: "Needs valkey"}


def test_an_open_page_follows_what_is_saved_elsewhere(page: Page, app: App) -> None:
    remember(app, "Takes 60s to start", *(f"Fact {n}" for n in range(40)))
    written(app, "Fact 39")
    app.ends()  # the file is edited while no session runs
    wait_until(lambda: app.get("/api/v1/sessions/1")["status"] != "running")
    page.goto(f"{app.url}{ADDRESS}")
    shown = page.get_by_role("region", name="Page", exact=True)
    last = shown.get_by_role("link", name="#41", exact=True)
    last.focus()
    top = last.bounding_box()

    app.post("/api/v1/memories/1", {"observation": "Takes 90s to start"}, method="PATCH")
    expect(shown).to_contain_text("Takes 90s to start")
    file = page_file(app)
    written(app, "Takes 90s")
    file.write_text(file.read_text() + "\nThe disk is in the cupboard.\n")
    expect(shown).to_contain_text("The disk is in the cupboard.")
    expect(last).to_be_focused()
    assert last.bounding_box() == top

    shown.get_by_role("button", name="Edit").click()
    field = shown.get_by_role("textbox")
    cursor = "element => element.value.slice(element.selectionStart)"
    field.evaluate("element => element.setSelectionRange(...Array(2).fill(element.value.length))")
    file.write_text(file.read_text().replace("The disk", "The spare disk"))
    expect(field).to_have_value(re.compile("The spare disk"))
    expect(field).to_be_focused()
    assert field.evaluate(cursor) == ""


@pytest.mark.parametrize("width", [1280, 390])
def test_unsaved_text_stays_when_the_page_is_saved_in_another_tab(
    page: Page, app: App, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    remember(app, "Takes 60s to start", "Needs redis")
    written(app, "redis")
    page.goto(f"{app.url}{ADDRESS}")
    shown = page.get_by_role("region", name="Page", exact=True)
    shown.get_by_role("button", name="Edit").click()
    field = shown.get_by_role("textbox")
    typed = field.input_value().replace("60s", "90s")
    field.fill(typed)
    top = field.bounding_box()

    other = page.context.new_page()
    other.goto(f"{app.url}{ADDRESS}")
    elsewhere = other.get_by_role("region", name="Page", exact=True)
    elsewhere.get_by_role("button", name="Edit").click()
    theirs = elsewhere.get_by_role("textbox")
    expect(theirs).to_have_value(typed)  # the draft of this browser
    theirs.fill(typed.replace("90s", "60s").replace("redis", "valkey"))
    elsewhere.get_by_role("button", name="Save").click()
    expect(other.get_by_text("Saved. 1 memory changed.")).to_be_visible()

    expect(shown.get_by_text("This page was changed elsewhere.")).to_be_visible()
    expect(shown.get_by_text("This page was changed elsewhere.")).to_be_in_viewport()
    edges = "element => element.getBoundingClientRect()"
    bar = page.locator("nav a[href='/memories']").evaluate(edges)
    note = shown.get_by_role("button", name="Compare").evaluate(edges)
    assert note["bottom"] <= (bar["top"] if width < 760 else 844)
    assert (field.input_value(), field.bounding_box()) == (typed, top)
    page.reload()
    shown.get_by_role("button", name="Edit").click()
    expect(field).to_have_value(typed)
    shown.get_by_role("button", name="Compare").click()
    clash = shown.get_by_role("alert", name="The page changed on disk")
    expect(clash.get_by_role("heading", name="The page changed on disk")).to_be_focused()
    expect(clash.get_by_label("On disk")).to_contain_text("valkey")
    assert page.evaluate(OVER) <= 0
    clash.get_by_role("button", name="Combine both").click()
    shown.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. 1 memory changed.")).to_be_visible()

    texts = {n: app.get(f"/api/v1/memories/{n}")["observation"] for n in (1, 2)}
    assert texts == {1: "Takes 90s to start", 2: "Needs valkey"}


def test_a_page_review_leads_from_the_reviews_to_the_page(page: Page, app: App) -> None:
    remember(app, *(f"Fact {n} of the start" for n in range(14)))
    written(app, "Fact 13")
    head = page_file(app).read_text().split("- [", 1)[0]
    page_file(app).write_text(head)
    wait_until(lambda: any(each["reasons"] for each in app.get("/api/v1/notebook")["pages"]))

    page.goto(app.url)
    needs = page.get_by_role("region", name="Needs attention")
    expect(needs).to_contain_text("1 notebook page to review")
    badge = page.locator("nav a[href='/reviews'] .nav-count")
    expect(badge).to_contain_text("1")
    needs.get_by_role("link", name="Review").click()
    held = page.get_by_role("region", name="Notebook pages that need a review")
    expect(held).to_contain_text("1 notebook page needs a review")
    held.get_by_role("link", name="services/jellyfin.md").click()
    waiting = page.get_by_role("region", name="This page needs a review")
    expect(waiting.get_by_label("As last stored")).to_contain_text("Fact 13")
    waiting.get_by_role("button", name="Discard file").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard file").click()
    expect(waiting).to_be_hidden()
    expect(badge).to_be_hidden()

    assert app.get("/api/v1/memories?service=jellyfin&state=active")["total"] == 14
    written(app, "Fact 13")


def test_notes_are_written_below_the_index(page: Page, app: App) -> None:
    remember(app, "Takes 60s to start")
    written(app, "60s")
    page.goto(f"{app.url}/notebook")
    shown = page.get_by_role("region", name="Page", exact=True)
    expect(shown.get_by_text("of 2,000 bytes")).to_be_visible()
    shown.get_by_role("button", name="Edit").click()
    shown.get_by_role("textbox").fill("Ask Ada before a restart")
    shown.get_by_role("button", name="Save").click()

    expect(shown.get_by_role("heading", name="Notes")).to_be_visible()
    assert "Ask Ada" in (app.home / "notebook" / "MEMORY.md").read_text()


def test_an_unknown_page_shows_a_message(page: Page, app: App, expected: set[int]) -> None:
    expected.add(404)
    page.goto(f"{app.url}/notebook?page=services%2Fnothing")
    expect(page.get_by_role("heading", name="The page could not be loaded")).to_be_visible()


def test_pages_are_found_by_their_text(page: Page, app: App) -> None:
    remember(app, "Takes 60s to start")
    written(app, "Takes 60s")
    file = page_file(app)
    file.write_text(file.read_text() + "\nThe spare disk is in the blue cupboard.\n")
    page.goto(f"{app.url}/notebook")
    tree = page.get_by_role("navigation", name="Pages")
    expect(tree.get_by_role("link", name="MEMORY.md")).to_be_visible()

    def found() -> bool:  # the edit is read within seconds
        tree.get_by_role("searchbox", name="Find in pages").fill("cupboard BLUE")
        page.wait_for_timeout(500)
        visible = tree.get_by_role("link").count() == 1
        tree.get_by_role("searchbox").fill("cupboard BLUE" if visible else "")
        return visible

    wait_until(found)
    expect(tree.get_by_role("link")).to_contain_text("The spare disk is in the blue cupboard.")
    tree.get_by_role("searchbox").fill("nowhere")
    expect(page.get_by_text("No page holds all of these words.")).to_be_visible()


def test_a_new_page_is_written_in_the_app(page: Page, app: App) -> None:
    remember(app, "Takes 60s to start")
    written(app, "Takes 60s")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app.url}/notebook")
    tree = page.get_by_role("navigation", name="Pages")
    tree.get_by_role("button", name="New page").click()
    form = tree.get_by_role("form", name="New page")
    expect(form.get_by_label("Name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(tree.get_by_role("button", name="New page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(form.get_by_label("Name")).to_be_focused()
    form.get_by_label("Section").select_option("Infrastructure")
    form.get_by_label("Name").fill("network")
    page.keyboard.press("Enter")

    shown = page.get_by_role("region", name="Page", exact=True)
    field = shown.get_by_role("textbox")
    expect(field).to_have_value("# network\n\n- ")
    field.fill("# network\n\nThe switch is in the hall.\n")
    assert page.evaluate(OVER) <= 0
    page.keyboard.press("Control+Enter")

    expect(page.get_by_text("Saved. No memory changed.")).to_be_visible()
    expect(shown.locator(".md")).to_contain_text("The switch is in the hall.")
    file = app.home / "notebook" / "infrastructure" / "network.md"
    assert "The switch is in the hall." in file.read_text()
