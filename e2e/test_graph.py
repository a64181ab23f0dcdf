"""Entities are found, their evidence is opened, and two of them are merged on the Graph page."""

import time

from playwright.sync_api import Page, expect

from app import App


def test_entities_are_merged_by_keys_and_the_merge_is_undone(page: Page, app: App) -> None:
    def entity(name: str, kind: str) -> int:
        number: int = app.post("/api/v1/entities", {"name": name, "kind": kind})["id"]
        return number

    kept, double, used = (
        entity("Ada", "person"),
        entity("A. Lovelace", "person"),
        entity("Redis", "tool"),
    )
    app.post("/api/v1/relationships", {"source_id": double, "kind": "uses", "target_id": used})
    page.goto(f"{app.url}/graph")
    page.get_by_role("searchbox", name="Find an entity").fill("Lovelace")
    found = page.get_by_role("region", name="Entities").get_by_role("listitem")
    expect(found).to_have_count(1)
    found.get_by_role("link").focus()
    page.keyboard.press("Enter")
    chosen = page.get_by_role("region", name="Entity", exact=True)
    expect(chosen.get_by_role("link", name="Redis")).to_be_visible()
    expect(chosen).to_contain_text("1 relationship")

    chosen.get_by_role("button", name="Merge into").focus()
    page.keyboard.press("Enter")
    chosen.get_by_role("button", name="Ada").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("A. Lovelace")
    dialog.get_by_role("button", name="Merge").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{app.url}/graph/{kept}")
    expect(chosen).to_contain_text("Also known as A. Lovelace")
    expect(chosen.get_by_role("link", name="Redis")).to_be_visible()

    chosen.get_by_role("link", name="Redis").focus()
    page.keyboard.press("z")
    expect(chosen.get_by_text("No relationships.")).to_be_visible()
    assert app.get(f"/api/v1/entities/{double}")["current"]


def test_the_evidence_of_a_relationship_leads_to_its_memory(page: Page, app: App) -> None:
    words = "The checkout service uses Redis because carts are small."
    made = {"category": "discovery", "observation": words, "project": "shop"}
    number = app.post("/api/v1/memories", made)["id"]
    end = time.monotonic() + 30
    while not (found := app.get("/api/v1/entities?q=redis")["items"]) and time.monotonic() < end:
        time.sleep(0.1)

    page.goto(f"{app.url}/graph/{found[0]['id']}")
    chosen = page.get_by_role("region", name="Entity", exact=True)
    expect(chosen.get_by_role("link", name="checkout")).to_be_visible()
    fold = chosen.get_by_role("group").first
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    fold.get_by_role("link", name=f"Memory {number}").click()

    expect(page).to_have_url(f"{app.url}/memories/{number}")
    expect(page.get_by_role("main")).to_contain_text(words)


def test_a_search_without_a_match_and_an_empty_graph_say_so(page: Page, app: App) -> None:
    page.goto(f"{app.url}/graph")
    expect(page.get_by_role("heading", name="No entities yet")).to_be_visible()
    page.get_by_role("searchbox", name="Find an entity").fill("nothing")
    expect(page.get_by_role("heading", name="No entities match")).to_be_visible()
