"""The panel of one memory: its content, its editing, and two concurrent edits."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from app import App
from cases import contradiction
from confidences import LEARNED, REINFORCED

pytestmark = pytest.mark.web_alone

COLD = "Takes 60s to start after a restart"
WARM = "Takes 5s to start after a restart"
TURNS = 30


SHIFTS = """
window.shifts = 0
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.shifts += each.value
}).observe({type: "layout-shift", buffered: true})
"""


def add(app: App, observation: str = COLD, **more: object) -> int:
    body = {"category": "timing", "service": "jellyfin", "observation": observation, **more}
    return int(app.post("/api/v1/memories", body)["id"])


def panel_of(page: Page, app: App, memory: int) -> Locator:
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary", name="Memory")
    expect(panel.get_by_role("heading", level=2)).to_be_visible()
    return panel


def save(panel: Locator) -> None:
    panel.get_by_role("button", name="Save").click()


def changed(page: Page, memory: int, body: dict[str, object]) -> None:
    """Let another person change a memory."""
    page.evaluate(
        """async ([id, body]) => { await fetch(`/api/v1/memories/${id}`, {method: "PATCH",
            headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)}) }""",
        [memory, body],
    )


def test_the_panel_shows_the_evidence_of_a_memory(page: Page, app: App) -> None:
    first = add(app)
    app.start("supervisor")
    app.ends()  # the round at the start may have begun before
    app.post("/api/v1/sessions", {})
    page.goto(f"{app.url}/sessions")
    expect(page.get_by_role("row", name=re.compile("#2 running"))).to_be_visible()
    app.says(f"[MEMORY:timing:jellyfin] {COLD}\n[MEMORY:timing:caddy] Starts at once")
    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("row", name=re.compile("Starts at once"))).to_be_visible()

    panel = panel_of(page, app, first)

    expect(panel.get_by_role("heading", level=2)).to_have_text(COLD)
    expect(panel).to_contain_text("reported in 1 session")
    expect(panel).to_contain_text(
        re.compile(
            r"In the next prompt: line 1 of 2, \d+ tokens\. In the prompt of [12] sessions?\."
        )
    )
    expect(panel).to_contain_text(
        re.compile(rf"{REINFORCED:.2f} Below 0\.30 on .+ unless it is reinforced\.")
    )
    expect(
        panel.get_by_text(f"Reported again by session, {LEARNED:.2f} → {REINFORCED:.2f}")
    ).to_be_visible()
    expect(panel.get_by_text("Added by a person")).to_be_visible()
    panel.get_by_text("As text").click()
    expect(panel.get_by_text(f"reinforced, {REINFORCED:.2f}")).to_be_visible()
    expect(panel.locator(".plot canvas")).to_be_visible()
    sessions = panel.get_by_role("list", name="Sessions with it in the prompt")
    sessions.get_by_role("link").first.click()
    expect(page).to_have_url(f"{app.url}/sessions/2?part=told")


def test_a_contradiction_is_shown_with_its_review(page: Page, app: App) -> None:
    old, new, review = contradiction(app, COLD, WARM)

    panel = panel_of(page, app, old)

    expect(panel.get_by_role("deletion").filter(has_text="60s")).to_be_visible()
    expect(panel.get_by_role("insertion").filter(has_text="5s")).to_be_visible()
    expect(panel.get_by_role("link", name=f"memory {new}", exact=True)).to_be_visible()
    panel.get_by_role("link", name="Resolve").click()
    expect(page).to_have_url(f"{app.url}/reviews/{review}")


def test_confidence_is_set_by_keys_and_by_buttons(page: Page, app: App) -> None:
    panel = panel_of(page, app, add(app))
    number, slider = panel.get_by_label("Confidence", exact=True), panel.get_by_role("slider")

    slider.press("ArrowRight")
    expect(number).to_have_value("0.71")
    slider.press("PageUp")
    expect(number).to_have_value("0.81")
    number.press("PageDown")
    number.press("-")
    expect(number).to_have_value("0.7")
    panel.get_by_role("button", name="Raise confidence by 0.01").click()
    save(panel)

    expect(panel.get_by_role("button", name="Save")).to_be_disabled()
    expect(panel.get_by_text("0.70 → 0.71")).to_be_visible()


def test_knowledge_has_a_separate_form(page: Page, app: App, expected: set[int]) -> None:
    expected.add(422)
    held = add(app, "Held", category="config", service=None, topic_key="config/db/pool")
    page.goto(f"{app.url}/memories")
    page.get_by_role("button", name="Add Memory").first.click()
    dialog = page.get_by_role("dialog", name="Add Memory")
    expect(dialog.get_by_label("Topic key")).to_have_count(0)
    dialog.get_by_label("Category").select_option("decision")
    dialog.get_by_label("Title").fill("Use WAL mode")
    dialog.get_by_label("Topic key").fill("config/db/pool")
    dialog.get_by_label("Tags").fill("sqlite, performance")
    dialog.get_by_label("Category").select_option("timing")
    expect(dialog.get_by_label("Title")).to_have_count(0)
    dialog.get_by_label("Category").select_option("decision")
    expect(dialog.get_by_label("Title")).to_have_value("Use WAL mode")
    dialog.get_by_label("Observation").fill("Reads go on beside writes.")
    dialog.get_by_role("button", name="Save").click()

    topic = dialog.get_by_label("Topic key")
    expect(topic).to_have_attribute("aria-invalid", "true")
    expect(topic).to_have_accessible_description(
        f"belongs to memory {held}; edit that memory instead"
    )
    topic.fill("config/db/journal")
    dialog.get_by_label("Scope").select_option("every project")
    dialog.get_by_label("Project").fill("Shop")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()

    memory = max(each["id"] for each in app.get("/api/v1/memories")["items"])
    panel = panel_of(page, app, memory)
    expect(panel.get_by_role("heading", level=2)).to_have_text("Use WAL mode")
    panel.get_by_label("Tags").fill("sqlite")
    panel.get_by_label("Project").fill("till")
    save(panel)
    expect(panel.get_by_role("button", name="Save")).to_be_disabled()
    expect(panel.get_by_text("project shop → till")).to_be_visible()
    kept = app.get(f"/api/v1/memories/{memory}")
    names = ("title", "tags", "project", "scope", "topic_key", "category", "kind")
    assert [kept[name] for name in names] == [
        *("Use WAL mode", ["sqlite"], "till", "global", "config/db/journal", "decision", "semantic")
    ]


def test_a_change_of_another_field_elsewhere_is_no_conflict(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    memory = add(app)
    panel = panel_of(page, app, memory)
    panel.get_by_label("Observation").fill("Takes 90s")

    changed(page, memory, {"confidence": 0.9, "category": "behavior"})
    save(panel)

    expect(page.get_by_role("status").filter(has_text="Meanwhile")).to_contain_text(
        "the category (timing → behavior) and the confidence (0.70 → 0.90)"
    )
    expect(page.get_by_role("dialog", name="Edit conflict")).to_be_hidden()
    kept = app.get(f"/api/v1/memories/{memory}")
    assert (kept["observation"], kept["confidence"]) == ("Takes 90s", 0.9)


def test_a_change_of_the_same_field_elsewhere_requires_a_choice(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    memory = add(app)
    panel = panel_of(page, app, memory)
    text = panel.get_by_label("Observation")
    text.fill("Takes 90s")
    changed(page, memory, {"observation": "Takes 30s", "confidence": 0.9})
    save(panel)
    dialog = page.get_by_role("dialog", name="Edit conflict")
    expect(dialog.get_by_text(COLD, exact=True)).to_be_visible()

    page.keyboard.press("Escape")

    expect(dialog).to_be_hidden()
    expect(text).to_have_value("Takes 90s")
    expect(panel.get_by_role("button", name="Save")).to_be_focused()
    assert app.get(f"/api/v1/memories/{memory}")["observation"] == "Takes 30s"
    save(panel)
    dialog.get_by_label("Combine both").check()
    dialog.get_by_label("Observation, combined").fill("Takes 30s to 90s")
    dialog.get_by_role("button", name="Save choices").click()
    expect(panel.get_by_role("heading", level=2)).to_have_text("Takes 30s to 90s")
    kept = app.get(f"/api/v1/memories/{memory}")
    assert (kept["observation"], kept["confidence"]) == ("Takes 30s to 90s", 0.9)


def test_alternating_edits_in_two_tabs_are_all_saved(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    memory = add(app)
    tabs = (page, page.context.new_page())
    text, confidence = (panel_of(tab, app, memory) for tab in tabs)

    for turn in range(TURNS // 2):
        with tabs[0].expect_response(lambda said: said.request.method == "PATCH" and said.ok):
            text.get_by_label("Observation").fill(f"Takes {turn}s")
            text.get_by_role("button", name="Save").press("Enter")
        with tabs[1].expect_response(lambda said: said.request.method == "PATCH" and said.ok):
            confidence.get_by_label("Confidence", exact=True).fill(f"{0.4 + turn / 100:.2f}")
            confidence.get_by_label("Confidence", exact=True).press("Enter")

    made = app.get(f"/api/v1/memories/{memory}/history?limit=200")["items"]
    assert len(made) == TURNS + 1
    for later, earlier in pairwise(made):
        assert later["before"] == earlier["after"]
    last = (f"Takes {TURNS // 2 - 1}s", 0.4 + (TURNS // 2 - 1) / 100)
    assert (made[0]["after"]["observation"], made[0]["after"]["confidence"]) == last
    for panel in (text, confidence):
        expect(panel.get_by_role("heading", level=2)).to_have_text(last[0])
        expect(panel.get_by_label("Confidence", exact=True)).to_have_value(f"{last[1]:.2f}")


def test_unsaved_text_survives_a_reload(page: Page, app: App) -> None:
    memory = add(app)
    panel = panel_of(page, app, memory)
    panel.get_by_label("Observation").fill("<img src=x onerror=alert(1)> takes 90s")

    page.reload()

    expect(
        panel.get_by_text(re.compile(r"Your unsaved draft from \d\d:\d\d is here\."))
    ).to_be_visible()
    expect(panel.get_by_label("Observation")).to_have_value(
        "<img src=x onerror=alert(1)> takes 90s"
    )
    expect(panel.locator("img")).to_have_count(0)
    panel.get_by_role("button", name="Discard").click()
    expect(panel.get_by_label("Observation")).to_have_value(COLD)
    page.get_by_role("button", name="Add Memory").first.click()
    dialog = page.get_by_role("dialog", name="Add Memory")
    dialog.get_by_label("Observation").fill("Half a thought")
    page.reload()
    expect(panel.get_by_label("Observation")).to_have_value(COLD)
    expect(panel.get_by_text("Your unsaved draft")).to_be_hidden()
    page.get_by_role("button", name="Add Memory").first.click()
    expect(dialog.get_by_label("Observation")).to_have_value("Half a thought")
    dialog.get_by_role("button", name="Discard").click()
    expect(dialog.get_by_label("Observation")).to_have_value("")


def test_on_a_phone_the_panel_fills_the_page(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    memory = add(app)
    panel = panel_of(page, app, memory)
    expect(page.get_by_role("table", name="Memories")).to_be_hidden()
    expect(page.get_by_label("Filter observations")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    panel.get_by_role("button", name="All memories").click()

    expect(page.get_by_role("row", name=re.compile(COLD))).to_be_visible()
    expect(page.get_by_role("link", name=COLD)).to_be_focused()


def test_late_content_causes_no_layout_shift(page: Page, app: App) -> None:
    memory = add(app, "Must be started after WireGuard, else it fails with no route to host")
    for number in range(10):
        add(app, f"Fact {number}", confidence=0.9)
    page.add_init_script(SHIFTS)
    page.set_viewport_size({"width": 320, "height": 800})

    panel = panel_of(page, app, memory)
    told = panel.get_by_text(re.compile("In no prompt yet|In the prompt of 1 session"))
    expect(told.first).to_be_visible()
    expect(panel.locator(".plot canvas")).to_be_visible()

    assert page.evaluate("window.shifts") < 0.01
    panel.get_by_role("button", name="All memories").click()
    row = page.get_by_role("row", name=re.compile("Must be started"))
    expect(row.get_by_role("link", name=re.compile("Must be started"))).to_be_focused()
