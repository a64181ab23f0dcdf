"""An operator's decisions on contradictions, and their reverts."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app import App
from cases import contradiction

OLD, NEW = "Takes 60s to start", "Takes 10s to start"


def by_key(key: str) -> Callable[[Page], None]:
    return lambda page: page.keyboard.press(key)


def by_button(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=name).click()


def both(page: Page) -> None:
    page.keyboard.press("c")
    page.keyboard.press("Tab")
    page.keyboard.type("a warm start")
    expect(page.get_by_text(f"{NEW} (a warm start)")).to_be_visible()
    page.get_by_role("button", name="Keep both").click()


def merge(page: Page) -> None:
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("Memory text").fill("Takes 10s to 60s to start")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def standing(app: App, *ids: int) -> list[tuple[str, float, bool]]:
    """Return the observation, the confidence, and whether the memory is active, by memory."""
    rows = [app.get(f"/api/v1/memories/{each}") for each in ids]
    return [(row["observation"], row["confidence"], row["active"]) for row in rows]


@pytest.mark.parametrize(
    ("decide", "said", "old", "new"),
    [
        (by_key("a"), "New memory kept.", (OLD, 0.6, False), (NEW, 0.7, True)),
        (by_button("Keep old"), "Old memory kept.", (OLD, 0.8, True), (NEW, 0.7, False)),
        (both, "Both kept", (OLD, 0.8, True), (f"{NEW} (a warm start)", 0.7, True)),
        (merge, "merged", ("Takes 10s to 60s to start", 0.8, True), (NEW, 0.7, False)),
        (by_key("s"), "Dismissed", (OLD, 0.6, True), (NEW, 0.7, True)),
    ],
    ids=["keep the new", "keep the old", "both", "merge", "dismiss"],
)
def test_a_contradiction_is_resolved_and_reverted(
    page: Page,
    app: App,
    decide: Callable[[Page], None],
    said: str,
    old: tuple[str, float, bool],
    new: tuple[str, float, bool],
) -> None:
    first, second, review = contradiction(app, OLD, NEW)
    page.goto(f"{app.url}/reviews/{review}")
    expect(page.get_by_role("region", name="Options")).to_be_visible()

    decide(page)

    decision = page.get_by_role("region", name="Decision")
    expect(decision).to_contain_text(said)
    assert standing(app, first, second) == [old, new]
    decision.get_by_role("button", name="Undo decision").click()
    expect(page.get_by_role("region", name="Options")).to_be_visible()
    assert standing(app, first, second) == [(OLD, 0.6, True), (NEW, 0.7, True)]


def test_reviews_appear_live_and_are_resolved_by_keys(page: Page, app: App) -> None:
    page.goto(f"{app.url}/reviews")
    expect(page.get_by_role("heading", name="No open reviews")).to_be_visible()
    contradiction(app, OLD, NEW)
    contradiction(app, "Answers HTTP 302", "Answers HTTP 200", service="caddy")
    menu = page.get_by_role("navigation", name="Main")
    expect(menu.get_by_text("2 waiting")).to_be_attached()

    page.keyboard.press("j")
    page.keyboard.press("Enter")
    old, new = (page.get_by_role("region", name=name) for name in ("Old memory", "New memory"))
    expect(old.get_by_role("deletion")).to_have_text("60s")
    page.keyboard.press("a")
    expect(new.get_by_role("insertion")).to_have_text("200")
    page.keyboard.press("d")
    expect(page.get_by_role("region", name="Decision")).to_be_visible()
    page.keyboard.press("u")

    expect(page.get_by_role("region", name="Options")).to_be_visible()
    expect(menu.get_by_text("1 waiting")).to_be_attached()
    states = [each["state"] for each in app.get("/api/v1/reviews?state=all")["items"]]
    assert sorted(states) == ["open", "resolved"]


def test_a_concurrent_decision_is_shown(page: Page, app: App, expected: set[int]) -> None:
    expected.update((409, 412))
    *_, review = contradiction(app, OLD, NEW)
    page.goto(f"{app.url}/reviews/{review}")
    expect(page.get_by_role("region", name="Options")).to_be_visible()
    page.get_by_role("button", name="Pause live updates").click()
    page.evaluate(
        """async (id) => { await fetch(`/api/v1/reviews/${id}/resolution`, {method: "PUT",
            headers: {"Content-Type": "application/json"},
            body: JSON.stringify({resolution: "keep_old"})}) }""",
        review,
    )

    page.keyboard.press("a")

    expect(page.get_by_text(re.compile("Someone else resolved this"))).to_be_visible()
    expect(page.get_by_text("Old memory kept.").last).to_be_visible()


def test_a_step_of_the_history_is_undone_and_redone(page: Page, app: App) -> None:
    memory = app.post(
        "/api/v1/memories", {"category": "timing", "service": "jellyfin", "observation": OLD}
    )["id"]
    page.goto(f"{app.url}/memories/{memory}")
    panel = page.get_by_role("complementary", name="Memory")
    panel.get_by_label("Observation").fill(NEW)
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("insertion")).to_have_text("10s")

    panel.get_by_role("button", name=re.compile("Revert: Edited")).click()

    expect(page.get_by_role("row", name=re.compile(OLD))).to_be_visible()
    expect(page.get_by_text("Change reverted.", exact=True)).to_be_visible()
    page.get_by_role("status").get_by_role("button", name="Undo").last.click()
    expect(page.get_by_role("row", name=re.compile(NEW))).to_be_visible()
    assert app.get(f"/api/v1/memories/{memory}")["observation"] == NEW


def test_a_contradiction_between_sessions_opens_a_review(page: Page, app: App) -> None:
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start after restart")
    app.ends()
    app.post("/api/v1/sessions", {"tier": 1})
    page.goto(f"{app.url}/reviews")
    expect(page.get_by_role("heading", name="No open reviews")).to_be_visible()

    app.says("[MEMORY:timing:jellyfin] Takes 10s to start after restart")

    page.get_by_role("link", name=re.compile("Takes 60s to start")).click()
    old = page.get_by_role("region", name="Old memory")
    expect(old).to_contain_text("Confidence lowered by 0.20: 0.70 → 0.50.")
    expect(old.get_by_role("listitem").filter(has_text="first reported by session")).to_be_visible()
    page.keyboard.press("d")
    expect(page.get_by_role("region", name="Decision")).to_be_visible()
    told = {row["observation"]: row["active"] for row in app.get("/api/v1/memories")["items"]}
    assert told == {
        "Takes 60s to start after restart": True,
        "Takes 10s to start after restart": False,
    }
    app.ends()
