"""Entities are found, their evidence is opened, and two of them are merged on the Graph page."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from app import App

pytestmark = pytest.mark.web_alone


def test_nothing_below_the_list_moves_when_it_loads_on_a_phone(page: Page, app: App) -> None:
    app.post("/api/v1/entities", {"name": "Ada", "kind": "person"})
    page.set_viewport_size({"width": 390, "height": 844})
    waiting: list[Route] = []
    page.route(re.compile(r"/api/v1/entities\?"), lambda each: waiting.append(each))
    page.goto(f"{app.url}/graph")
    hint = page.get_by_text("Select an entity to see its relationships.")

    expect(page.locator(".graph .list .skeleton")).to_be_visible()
    expect(hint).to_be_hidden()
    for each in waiting:
        each.continue_()

    expect(page.get_by_role("link", name="Ada")).to_be_visible()
    expect(hint).to_be_visible()


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

    chosen.get_by_role("button", name="Unmerge A. Lovelace").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("A. Lovelace unmerged.")).to_be_visible()
    expect(chosen.get_by_text("No relationships.")).to_be_visible()
    expect(chosen.get_by_role("heading", name="Ada")).to_be_focused()
    page.keyboard.press("z")
    expect(chosen).to_contain_text("Also known as A. Lovelace")
    chosen.get_by_role("link", name="Redis").focus()
    page.keyboard.press("z")
    expect(chosen.get_by_text("No relationships.")).to_be_visible()
    assert app.get(f"/api/v1/entities/{double}")["current"]

    app.post(f"/api/v1/entities/{double}/merge", {"into": kept})
    page.goto(f"{app.url}/graph/{double}")
    chosen.get_by_role("link", name="Show the other entity").click()
    expect(page).to_have_url(f"{app.url}/graph/{kept}")
    chosen.get_by_role("button", name="Unmerge A. Lovelace").click()
    expect(chosen.get_by_text("No relationships.")).to_be_visible()


def test_an_entity_that_replaces_the_list_on_a_phone_receives_the_focus(
    page: Page, app: App
) -> None:
    app.post("/api/v1/entities", {"name": "Ada", "kind": "person"})
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{app.url}/graph")
    page.get_by_role("link", name="Ada").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ada")).to_be_focused()


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


def test_a_search_without_a_match_and_an_empty_graph_show_a_message(page: Page, app: App) -> None:
    (app.home / "services.yaml").write_text("services: {}\n")  # each service is an entity
    page.goto(f"{app.url}/graph")
    expect(page.get_by_role("heading", name="No entities yet")).to_be_visible()
    page.get_by_role("searchbox", name="Find an entity").fill("nothing")
    expect(page.get_by_role("heading", name="No entities match")).to_be_visible()


def place_of(page: Page, entity: int) -> tuple[float, float]:
    """Return the position of an entity on the screen, as stored by the drawing."""
    drawn = page.locator(".graph-drawing")
    expect(drawn.locator("canvas").first).to_be_visible()
    page.wait_for_function(
        "id => document.querySelector('.graph-drawing')._cyreg?.cy.getElementById(id).length === 1",
        arg=str(entity),
    )
    found = drawn.evaluate(
        "(el, id) => { const { x, y } = el._cyreg.cy.getElementById(id).renderedPosition();"
        " const box = el.getBoundingClientRect(); return [box.x + x, box.y + y] }",
        str(entity),
    )
    return found[0], found[1]


def drag(page: Page, entity: int, onto: int) -> None:
    """Drag one entity of the drawing onto another."""
    page.mouse.move(*place_of(page, entity))
    page.mouse.down()
    page.mouse.move(*place_of(page, onto), steps=8)
    page.mouse.up()


def three_entities(app: App) -> tuple[int, int, int]:
    """Create a person who uses two tools of one name, and return their ids."""
    made = [("Ada", "person"), ("Redis", "tool"), ("Redis server", "tool")]
    ada, kept, double = (
        int(app.post("/api/v1/entities", {"name": name, "kind": kind})["id"]) for name, kind in made
    )
    for tool in (kept, double):
        app.post("/api/v1/relationships", {"source_id": ada, "kind": "uses", "target_id": tool})
    return ada, kept, double


def test_an_entity_dropped_on_another_is_merged_and_the_merge_undone(page: Page, app: App) -> None:
    ada, kept, double = three_entities(app)
    page.goto(f"{app.url}/graph/{ada}")
    chosen = page.get_by_role("region", name="Entity", exact=True)
    expect(chosen.get_by_role("img", name="Drawing of the neighborhood of Ada")).to_be_visible()

    drag(page, double, ada)
    expect(page.get_by_text("They cannot be merged.")).to_be_visible()
    drag(page, double, kept)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Merge Redis server into Redis?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(chosen.get_by_role("link", name="Redis server")).to_be_visible()
    drag(page, double, kept)
    dialog.get_by_role("button", name="Merge").click()

    expect(page.get_by_text("Redis server merged into Redis.")).to_be_visible()
    expect(chosen.get_by_role("link", name="Redis server")).to_have_count(0)
    assert page.locator(".graph-drawing").evaluate("el => el._cyreg.cy.nodes().length") == 2
    page.get_by_role("button", name="Undo").last.click()
    expect(chosen.get_by_role("link", name="Redis server")).to_be_visible()


def test_a_click_on_a_relationship_shows_its_memories(page: Page, app: App) -> None:
    words = "The checkout service uses Redis because carts are small."
    app.post("/api/v1/memories", {"category": "discovery", "observation": words, "project": "shop"})
    end = time.monotonic() + 30
    while not (found := app.get("/api/v1/entities?q=redis")["items"]) and time.monotonic() < end:
        time.sleep(0.1)
    assert found[0]["relationships"] == 1
    redis = found[0]["id"]
    [edge] = app.get(f"/api/v1/graph?center={redis}")["edges"]
    page.goto(f"{app.url}/graph/{redis}")

    ends = [place_of(page, edge[end]) for end in ("source_id", "target_id")]
    page.mouse.click(*(sum(each) / 2 for each in zip(*ends, strict=True)))

    proof = page.get_by_role("region", name="Evidence")
    expect(proof).to_contain_text("checkout uses Redis")
    expect(proof).to_contain_text(words)
    row = page.get_by_role("region", name="Entities").get_by_role("link", name="Redis")
    expect(row).to_contain_text("1 relationship")


def test_the_drawing_and_the_lists_have_the_same_content(page: Page, app: App) -> None:
    ada, kept, double = three_entities(app)
    app.post("/api/v1/relationships", {"source_id": kept, "kind": "replaces", "target_id": double})
    page.goto(f"{app.url}/graph/{ada}")
    place_of(page, double)
    page.get_by_role("checkbox", name="Include neighbors of neighbors").check()

    chosen = page.get_by_role("region", name="Entity", exact=True)
    further = chosen.get_by_role("region", name="Relationships between neighbors")
    expect(further.get_by_role("listitem")).to_have_text("Redis replaces Redis server Evidence")
    drawn = page.locator(".graph-drawing").evaluate(
        "el => el._cyreg.cy.edges().map(e => [e.source().id(), e.data('label'), e.target().id()])"
    )
    assert sorted(drawn) == sorted(
        [
            [str(ada), "uses", str(kept)],
            [str(ada), "uses", str(double)],
            [str(kept), "replaces", str(double)],
        ]
    )


def test_only_the_graph_page_loads_the_drawing(page: Page, app: App) -> None:
    ada, *_ = three_entities(app)
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))

    page.goto(f"{app.url}/memories")
    expect(page.get_by_role("heading", name="Memories", exact=True)).to_be_visible()
    page.goto(f"{app.url}/graph")
    row = page.get_by_role("link", name="Ada")
    expect(row).to_be_visible()
    assert not any("/assets/neighborhood-" in each for each in loaded)
    row.click()
    place_of(page, ada)

    assert sum("/assets/neighborhood-" in each for each in loaded) == 1


def test_on_a_phone_the_entity_replaces_the_list(page: Page, app: App) -> None:
    ada, *_ = three_entities(app)
    for number in range(40):
        app.post("/api/v1/entities", {"name": f"Tool {number:02}", "kind": "tool"})
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app.url}/graph/{ada}")

    chosen = page.get_by_role("region", name="Entity", exact=True)
    heading = chosen.get_by_role("heading", name="Ada")
    expect(heading).to_be_in_viewport()
    expect(page.get_by_role("region", name="Entities")).to_be_hidden()
    expect(chosen.get_by_role("img")).to_have_count(0)
    show = chosen.get_by_role("button", name="Show drawing")
    listed, below = chosen.get_by_role("link", name="Redis").first, show.bounding_box()
    above = listed.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"]
    show.click()
    expect(chosen.get_by_role("img")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chosen.get_by_role("button", name="All entities").click()
    expect(page).to_have_url(f"{app.url}/graph")
    expect(page.get_by_role("region", name="Entities")).to_be_visible()


def test_another_entity_or_theme_moves_nothing(page: Page, app: App) -> None:
    ada, kept, _ = three_entities(app)
    page.goto(f"{app.url}/graph/{ada}")
    place_of(page, kept)
    before = page.locator(".graph-canvas").bounding_box()
    color = "el => el._cyreg.cy.nodes()[0].style('color')"
    light = page.locator(".graph-drawing").evaluate(color)

    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    drawn = "document.querySelector('.graph-drawing')"
    page.wait_for_function(f"light => ({color})({drawn}) !== light", arg=light)
    chosen = page.get_by_role("region", name="Entity", exact=True)
    chosen.get_by_role("link", name="Redis").first.click()
    expect(page).to_have_url(f"{app.url}/graph/{kept}")
    expect(page.get_by_role("heading", name="Redis", exact=True)).to_be_visible()

    assert page.locator(".graph-canvas").bounding_box() == before
