"""The table of memories: sorted, filtered, edited in place, changed in bulk, without jumps."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app import App

pytestmark = pytest.mark.web_alone

SHIFTS = """
window.shifts = 0
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.shifts += each.value
}).observe({type: "layout-shift", buffered: true})
"""
# Rows at rest must be painted in their old place in the frame after other rows arrived. The layout
# shifts that Chromium reports do not say so: on a busy machine it can report one between two
# frames, before the rows slide.
PAINTED = """
window.jumps = []
let painted = new Set(), resting = new Map()
const compare = () => {
  const rows = [...document.querySelectorAll("tr[data-id]")]
  const tops = new Map(rows.map((row) => [row.dataset.id, row.getBoundingClientRect().top]))
  if (rows.some((row) => !painted.has(row.dataset.id)))
    for (const [id, top] of resting)
      if (Math.abs(tops.get(id) - top) > 1) window.jumps.push([id, top, tops.get(id)])
  painted = new Set(tops.keys())
  resting = new Map([...tops].filter((_, at) => rows[at].getAnimations().length === 0))
  requestAnimationFrame(compare)
}
requestAnimationFrame(compare)
"""
# Another part of a row changes in the same task in which a row arrives.
TOUCHED = """
const {get, set} = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage")
Object.defineProperty(MessagePort.prototype, "onmessage", {get, set(receive) {
  set.call(this, (event) => {
    document.querySelector("tr[data-id]:last-child time")?.append("")
    receive(event)
  })
}})
"""
TOPS = "() => [...document.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id)"


def add(app: App, observation: str, **more: object) -> int:
    body = {"category": "timing", "service": "jellyfin", "observation": observation, **more}
    return int(app.post("/api/v1/memories", body)["id"])


def observations(page: Page) -> list[str]:
    return page.locator("tr[data-id] a[data-row]").all_inner_texts()


def saved(app: App, number: int, observation: str) -> dict[str, Any]:
    """Return a memory once the server has its new observation."""
    deadline = time.monotonic() + 20
    while True:
        row: dict[str, Any] = app.get(f"/api/v1/memories/{number}")
        if row["observation"] == observation or time.monotonic() > deadline:
            assert row["observation"] == observation
            return row
        time.sleep(0.05)


def row_of(page: Page, words: str) -> Locator:
    return page.get_by_role("row", name=re.compile(words))


def test_sorting_and_filters_survive_reload_and_back(page: Page, app: App) -> None:
    for number, confidence in enumerate([0.9, 0.5, 0.7, 0.2]):
        add(app, f"Fact {number}", confidence=confidence)
    add(app, "Of caddy", service="caddy", confidence=0.6)
    page.goto(f"{app.url}/memories")
    expect(page.locator("tr[data-id]")).to_have_count(5)

    page.get_by_role("columnheader", name="Confidence").get_by_role("button").click()
    page.get_by_role("link", name=re.compile("^Active")).click()
    page.get_by_label("Service").first.select_option("jellyfin")
    page.get_by_role("columnheader", name="Category").get_by_role("button").click()
    page.go_back()

    wanted = ["Fact 1", "Fact 2", "Fact 0"]
    expect(page).to_have_url(f"{app.url}/memories?order=asc&state=active&service=jellyfin")
    expect(page.locator("tr[data-id] a[data-row]")).to_have_text(wanted)
    head = page.get_by_role("columnheader", name="Confidence")
    expect(head).to_have_attribute("aria-sort", "ascending")
    page.reload()
    expect(page.locator("tr[data-id] a[data-row]")).to_have_text(wanted)
    page.get_by_role("link", name=re.compile("^Only one source")).click()
    expect(page).to_have_url(re.compile("view=single"))
    expect(page.locator("tr[data-id] a[data-row]")).to_have_text(wanted)


def test_a_row_is_edited_by_keys_alone(page: Page, app: App) -> None:
    number = add(app, "Takes 60s")
    add(app, "Raise confidence", confidence=0.9)
    page.goto(f"{app.url}/memories")
    expect(page.locator("tr[data-id]")).to_have_count(2)

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("e")
    form = page.get_by_role("form", name=f"Edit memory {number}")
    expect(form.get_by_label("Observation")).to_be_focused()
    page.keyboard.type("Takes 90s")
    page.keyboard.press("Enter")
    expect(row_of(page, "Takes 90s").locator("[data-row]")).to_be_focused()
    held = saved(app, number, "Takes 90s")  # the row shows it before the server has it
    page.keyboard.press("e")
    page.keyboard.type("Not this")
    page.keyboard.press("Escape")
    expect(row_of(page, "Takes 90s").locator("[data-row]")).to_be_focused()
    assert app.get(f"/api/v1/memories/{number}")["version"] == held["version"]


PRESS_MINUS = """(times) => { while (times--) document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", {key: "-", bubbles: true, cancelable: true})) }"""


def test_steps_of_confidence_are_one_edit_and_one_undo(page: Page, app: App) -> None:
    number = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories")
    row = row_of(page, "Takes 60s")
    expect(row).to_contain_text("0.70")
    page.keyboard.press("j")

    page.evaluate(PRESS_MINUS, 3)  # at once, however slow the machine is
    expect(row).to_contain_text("0.55")
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()

    expect(page.get_by_role("form", name=f"Edit memory {number}")).to_have_count(0)
    expect(row.locator("[data-row]")).to_be_focused()
    saved = app.get(f"/api/v1/memories/{number}")
    assert (saved["confidence"], saved["version"]) == (0.55, 2)
    page.keyboard.press("z")
    expect(row).to_contain_text("0.70")
    assert app.get(f"/api/v1/memories/{number}")["confidence"] == 0.7
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("z")
    expect(row).to_contain_text("0.70")


def test_a_stale_edit_in_a_row_shows_both_versions(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    number = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories")
    row_of(page, "Takes 60s").get_by_role("link", name="Takes 60s").dblclick()
    form = page.get_by_role("form", name=f"Edit memory {number}")
    form.get_by_label("Observation").fill("Mine: takes 90s")
    page.evaluate(
        """async (id) => { await fetch(`/api/v1/memories/${id}`, {method: "PATCH",
            headers: {"Content-Type": "application/json"},
            body: JSON.stringify({observation: "Theirs: takes 30s"})}) }""",
        number,
    )

    form.get_by_role("button", name="Save").click()

    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Mine: takes 90s")
    expect(dialog).to_contain_text("Theirs: takes 30s")
    assert app.get(f"/api/v1/memories/{number}")["observation"] == "Theirs: takes 30s"


def test_rows_are_ticked_in_ranges(page: Page, app: App) -> None:
    for number in range(8):
        add(app, f"Fact {number}", confidence=0.9 - number / 100)
    page.goto(f"{app.url}/memories")
    expect(page.locator("tr[data-id]")).to_have_count(8)

    page.get_by_label("Select memory 2", exact=True).click()
    page.get_by_label("Select memory 5", exact=True).click(modifiers=["Shift"])
    expect(page.get_by_text("4 selected")).to_be_visible()
    for key in ("Escape", "j", "X"):
        page.keyboard.press(key)

    expect(page.get_by_text("5 selected")).to_be_visible()


def test_an_act_on_all_matches_is_previewed_and_undone_as_one(page: Page, app: App) -> None:
    for number in range(60):
        add(app, f"Fact {number}", confidence=0.4 if number < 7 else 0.7)
    page.goto(f"{app.url}/memories?service=jellyfin")
    expect(page.get_by_text("60 memories", exact=True)).to_be_visible()
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Select all 60 memories that match").click()
    page.get_by_label("Bulk action").select_option("Lower confidence by")
    page.get_by_label("Amount").fill("0.2")

    page.get_by_role("button", name="Apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("60 memories change.")
    expect(dialog).to_contain_text("7 become inactive.")
    expect(dialog.get_by_role("row", name=re.compile("Fact 0"))).to_contain_text("inactive")
    assert app.get("/api/v1/memories?state=inactive")["total"] == 0
    dialog.get_by_role("button", name="Apply changes").click()

    expect(page.get_by_text("Confidence of 60 memories lowered by 0.20.")).to_be_visible()
    expect(page.get_by_text("60 memories", exact=True).locator("..")).to_be_focused()
    assert app.get("/api/v1/memories?state=inactive")["total"] == 7
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Reverted")).to_be_visible()
    assert app.get("/api/v1/memories?state=active")["total"] == 60


def test_fifty_new_rows_do_not_move_the_focused_row(page: Page, app: App) -> None:
    for number in range(20):
        add(app, f"Fact {number}", confidence=0.5)
    page.add_init_script(SHIFTS)
    page.goto(f"{app.url}/memories")
    expect(page.locator("tr[data-id]")).to_have_count(20)
    row = page.locator("tr[data-id]").nth(4)
    row.locator("[data-row]").focus()
    before, rows = row.bounding_box(), page.evaluate(TOPS)
    page.evaluate("window.shifts = 0")

    for number in range(50):
        add(app, f"Arrived {number}", confidence=0.9)

    expect(page.get_by_role("button", name="50 new memories")).to_be_visible()
    assert (row.bounding_box(), page.evaluate(TOPS)) == (before, rows)
    assert page.evaluate("window.shifts") == 0


def test_fifty_new_rows_appear_without_a_jump(page: Page, app: App) -> None:
    for number in range(20):
        add(app, f"Fact {number}", confidence=0.5)
    page.add_init_script(PAINTED + TOUCHED)
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("link", name="Only one source 20")).to_be_visible()
    page.evaluate("window.jumps = []")

    add(app, "Arrived alone", confidence=0.9)
    expect(row_of(page, "Arrived alone")).to_be_visible()
    for number in range(49):
        add(app, f"Arrived {number}", confidence=0.9)

    expect(page.get_by_text("70 memories", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("new memories"))).to_be_visible()
    assert page.evaluate("window.jumps") == []


def test_a_long_list_loads_more_rows_while_scrolling(page: Page, app: App) -> None:
    for number in range(420):
        add(app, f"Fact {number}", confidence=round(0.95 - number / 1000, 3))
    page.goto(f"{app.url}/memories?sort=created&order=asc")
    rows = page.locator("tr[data-id]")
    expect(rows.first).to_be_visible()
    most = 0

    for _ in range(60):
        page.mouse.move(640, 500)
        page.mouse.wheel(0, 1_500)
        page.wait_for_timeout(40)
        most = max(most, rows.count())
        if page.get_by_text("Fact 419", exact=True).count():
            break

    expect(page.get_by_text("Fact 419", exact=True)).to_be_visible()
    assert most <= 200
    page.get_by_role("button", name="Show earlier").click()
    assert rows.count() <= 200


def test_unsaved_text_in_a_row_is_kept_and_an_empty_field_is_not_zero(page: Page, app: App) -> None:
    number = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories")
    row_of(page, "Takes 60s").get_by_role("link", name="Takes 60s").dblclick()
    form = page.get_by_role("form", name=f"Edit memory {number}")
    form.get_by_label("Observation").fill("Takes 90s")
    page.reload()
    row_of(page, "Takes 60s").get_by_role("link", name="Takes 60s").dblclick()
    expect(form.get_by_label("Observation")).to_have_value("Takes 90s")
    expect(form).to_contain_text("Your unsaved draft from")
    form.get_by_label("Confidence", exact=True).fill("")
    page.keyboard.press("Enter")

    expect(form).to_contain_text("Enter a number from 0 to 1.")
    assert app.get(f"/api/v1/memories/{number}")["version"] == 1


def test_many_changes_elsewhere_do_not_move_the_focused_row(page: Page, app: App) -> None:
    many = [add(app, f"Fact {number}", confidence=0.9 - number / 100) for number in range(8)]
    page.goto(f"{app.url}/memories?state=active")
    expect(page.locator("tr[data-id]")).to_have_count(8)
    page.locator("tr[data-id]").nth(4).locator("[data-row]").focus()
    before = page.evaluate(TOPS)

    act = {"ids": many[:3], "action": "confidence", "value": 0.1}
    app.post("/api/v1/memories/bulk", act)

    expect(row_of(page, "Fact 0")).to_contain_text("0.10")
    expect(page.get_by_role("button", name="Refresh list")).to_be_visible()
    assert page.evaluate(TOPS) == before
    page.get_by_role("button", name="Refresh list").click()
    expect(page.locator("tr[data-id]")).to_have_count(5)


def test_the_order_of_a_narrow_table_is_visible_to_the_keyboard(page: Page, app: App) -> None:
    app.post("/api/v1/memories", {"category": "timing", "observation": "Takes 60s to start"})
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("link", name="Takes 60s to start")).to_be_visible()
    order = page.get_by_role("button", name="Confidence", exact=True)

    order.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")

    expect(order).to_be_focused()
    assert order.evaluate(
        "el => { const { x, y, width, height } = el.getBoundingClientRect();"
        " return el.contains(document.elementFromPoint(x + width / 2, y + height / 2)) }"
    )
