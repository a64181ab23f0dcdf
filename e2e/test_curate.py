"""Corrections by an operator."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from app import App

pytestmark = pytest.mark.web_alone


def add(app: App, observation: str, **more: object) -> int:
    body = {"category": "timing", "service": "jellyfin", "observation": observation, **more}
    return int(app.post("/api/v1/memories", body)["id"])


def test_add_memory(page: Page, app: App) -> None:
    page.goto(f"{app.url}/memories")

    page.get_by_role("button", name="Add Memory").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Category").select_option("maintenance")
    dialog.get_by_label("Service").fill("postgres")
    dialog.get_by_label("Observation").fill("Needs manual VACUUM FULL weekly")
    dialog.get_by_label("Confidence", exact=True).last.fill("0.9")
    dialog.get_by_role("button", name=re.compile("Save|Add Memory")).click()

    row = page.get_by_role("row", name=re.compile("Needs manual VACUUM FULL weekly"))
    expect(row).to_be_visible()
    [memory] = app.get("/api/v1/memories")["items"]
    assert (memory["service"], memory["confidence"], memory["session_id"], memory["tier"]) == (
        "postgres",
        0.9,
        None,
        0,
    )


def test_similar_memories_appear_while_a_memory_is_typed(page: Page, app: App) -> None:
    same = add(app, "Takes 60s to start")
    other = add(app, "Takes 10 minutes to start")
    page.goto(f"{app.url}/memories")

    page.get_by_role("button", name="Add Memory").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Category").select_option("timing")
    dialog.get_by_label("Service").fill("jellyfin")
    save = dialog.get_by_role("button", name="Save")
    before = save.bounding_box()
    dialog.get_by_label("Observation").fill("Takes a minute (60 seconds) to start")

    expect(dialog.get_by_role("link", name=f"Memory {other} conflicts")).to_be_visible()
    assert save.bounding_box() == before
    dialog.get_by_role("link", name=f"Memory {same} matches").click()
    expect(dialog).to_be_hidden()
    panel = page.get_by_role("complementary").filter(has_text="Takes 60s to start").last
    expect(panel.get_by_role("heading", name="Takes 60s to start")).to_be_visible()
    panel.get_by_label("Observation").fill("Takes 600s to start")
    link = panel.get_by_role("link", name=f"Memory {other} matches")
    expect(link).to_be_visible()
    expect(panel.get_by_role("link", name=f"Memory {same} ")).to_have_count(0)

    page.get_by_role("button", name="Add Memory").first.click()
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert len(app.get("/api/v1/memories")["items"]) == 3


def test_edit_the_observation_and_the_confidence(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary").filter(has_text="Takes 60s").last

    panel.get_by_label("Observation").fill("Takes 90s")
    panel.get_by_label("Confidence", exact=True).last.fill("0.95")
    panel.get_by_role("button", name="Save").click()

    expect(page.get_by_role("row", name=re.compile("Takes 90s"))).to_be_visible()
    stored = app.get(f"/api/v1/memories/{memory}")
    assert (stored["observation"], stored["confidence"]) == ("Takes 90s", 0.95)


def test_delete_requires_one_confirmation_and_can_be_undone(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    before = app.get(f"/api/v1/memories/{memory}")
    page.goto(f"{app.url}/memories/{memory}")

    page.get_by_role("button", name="Delete", exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")).click()
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)
    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_be_visible()
    expect(page.get_by_text(f"Restored memory {memory}.")).to_be_visible()
    assert app.get(f"/api/v1/memories/{memory}") == before


def test_a_deletion_waits_for_a_slow_read_of_its_memory(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    delayed: list[Route] = []
    page.route(f"**/api/v1/memories/{memory}/verification", lambda route: delayed.append(route))
    page.goto(f"{app.url}/memories/{memory}")
    expect(page.get_by_role("region", name="Verification")).to_be_visible()

    page.get_by_role("button", name="Delete", exact=True).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")).click()
    delayed[0].continue_()

    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)


def test_a_key_undoes_saved_edits_from_the_newest(page: Page, app: App) -> None:
    memory = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary", name="Memory")
    for words in ("Takes 70s", "Takes 80s"):
        panel.get_by_label("Observation").fill(words)
        panel.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name=re.compile(words))).to_be_visible()
    page.keyboard.press("Escape")

    for words in ("Takes 70s", "Takes 60s"):
        page.keyboard.press("z")
        expect(page.get_by_role("row", name=re.compile(words))).to_be_visible()

    expect(page.get_by_text(f"Reverted the edit of memory {memory}.").first).to_be_visible()
    assert app.get(f"/api/v1/memories/{memory}")["observation"] == "Takes 60s"
    page.keyboard.press("z")
    expect(page.get_by_text(f"Removed memory {memory} again.")).to_have_count(0)
    expect(page.get_by_text("Nothing to undo.")).to_be_visible()


def test_delete_selected(page: Page, app: App) -> None:
    for number in range(5):
        add(app, f"Fact {number}")
    add(app, "Stays")
    page.goto(f"{app.url}/memories")
    for number in range(5):
        row = page.get_by_role("row", name=re.compile(f"Fact {number}"))
        row.get_by_role("checkbox").check()

    page.get_by_role("button", name=re.compile("Delete Selected")).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")).click()

    expect(page.get_by_role("row", name=re.compile("Fact"))).to_have_count(0)
    assert [each["observation"] for each in app.get("/api/v1/memories")["items"]] == ["Stays"]


def test_filters_are_stored_in_the_address(page: Page, app: App) -> None:
    add(app, "Takes 60s")
    add(app, "Library scan", category="behavior")
    add(app, "Applies to all", service=None, confidence=0.2)
    page.goto(f"{app.url}/memories?service=general")

    expect(page.get_by_role("row", name=re.compile("Applies to all"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)
    page.goto(f"{app.url}/memories")
    page.get_by_label("Category").first.select_option("behavior")
    expect(page).to_have_url(re.compile("category=behavior"))
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)
    page.reload()
    expect(page.get_by_role("row", name=re.compile("Library scan"))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Takes 60s"))).to_have_count(0)


def test_a_concurrent_edit_shows_both_versions(page: Page, app: App, expected: set[int]) -> None:
    expected.add(412)
    memory = add(app, "Takes 60s")
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary").filter(has_text="Takes 60s").last
    panel.get_by_label("Observation").fill("Mine: takes 90s")

    page.evaluate(
        """async (id) => { await fetch(`/api/v1/memories/${id}`, {method: "PATCH",
            headers: {"Content-Type": "application/json"},
            body: JSON.stringify({observation: "Theirs: takes 30s"})}) }""",
        memory,
    )
    panel.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Theirs: takes 30s").first).to_be_visible()
    assert "Theirs" in app.get(f"/api/v1/memories/{memory}")["observation"]


def test_text_of_an_agent_is_shown_as_text(page: Page, app: App) -> None:
    add(app, "<img src=x onerror=alert(1)><script>alert('xss')</script>")

    page.goto(f"{app.url}/memories")

    expect(page.get_by_text("<script>alert('xss')</script>").first).to_be_visible()
    assert page.locator("td img, td script").count() == 0
