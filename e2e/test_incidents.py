"""Incidents are listed, read with their timeline, commented and closed by a person."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import SERVICES, App
from lamplighter.repository.store import driver
from test_phone import picture
from test_round import looked_at


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    started = App(tmp_path / "home", env={"LAMPLIGHTER_WEBHOOK_TOKEN": "monitors"}).start()
    yield started
    started.stop()


def fails(
    app: App, service: str = "jellyfin", severity: str = "critical", alert_id: str = ""
) -> int:
    """Let a monitor report a service, and return the number of its incident."""
    about = {"service": service, "id": alert_id or service}
    alert = {**about, "title": "is down", "severity": severity}
    app.post("/api/v1/webhooks/kuma", alert)
    return int(app.get("/api/v1/incidents")["items"][0]["id"])


def test_an_incident_is_acknowledged_noted_and_closed(page: Page, app: App) -> None:
    number = fails(app)
    page.goto(f"{app.url}/incidents")
    row = page.get_by_role("region", name="Incidents, newest first").get_by_role("listitem")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("jellyfin: is down")
    expect(page.get_by_text("1 open incident")).to_be_visible()

    row.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{app.url}/incidents/{number}")
    expect(page.get_by_role("heading", name=f"Incident {number}")).to_be_focused()
    timeline = page.get_by_role("region", name="Timeline").get_by_role("listitem")
    expect(timeline.filter(has_text="kuma: is down").first).to_be_visible()

    page.get_by_role("button", name="Acknowledge").click()
    expect(timeline.filter(has_text="Acknowledged")).to_be_visible()
    page.get_by_label("Note").fill("The disk was full")
    page.get_by_role("button", name="Save note").click()
    expect(timeline.filter(has_text="The disk was full")).to_be_visible()

    page.get_by_role("button", name="Close", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("jellyfin: is down")
    dialog.get_by_role("button", name="Close incident").click()
    expect(timeline.filter(has_text="Resolved")).to_be_visible()
    expect(page.get_by_text("repaired by a person after").first).to_be_visible()
    expect(page.get_by_role("button", name="Acknowledge")).to_be_hidden()

    again = fails(app, alert_id="again")
    page.goto(f"{app.url}/incidents/{again}")
    compared = page.get_by_role("region", name="Compared with the previous incident of this cause")
    expect(compared.get_by_role("link", name=f"Incident {number}")).to_be_visible()
    expect(compared.get_by_role("row", name="Outcome")).to_contain_text("repaired by a person")


def test_the_focus_stays_near_a_button_that_disappears(page: Page, app: App) -> None:
    number = fails(app)
    page.goto(f"{app.url}/incidents/{number}")
    heading = page.get_by_role("heading", name=f"Incident {number}")

    page.get_by_role("button", name="Acknowledge").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(heading).to_be_focused()

    page.get_by_label("Note").focus()
    page.keyboard.type("The disk was full")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved.")).to_have_count(2)
    expect(page.get_by_label("Note")).to_be_focused()

    page.get_by_role("button", name="Undo").last.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reverted")).to_be_visible()
    expect(page.get_by_label("Note")).to_be_focused()

    page.get_by_role("button", name="Close", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Close incident")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_hidden()
    expect(heading).to_be_focused()


def test_the_focus_moves_only_if_it_was_lost(page: Page, app: App) -> None:
    number = fails(app)
    page.goto(f"{app.url}/incidents/{number}")
    acknowledge = page.get_by_role("button", name="Acknowledge")
    acknowledge.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Note").focus()
    expect(acknowledge).to_be_hidden()
    page.wait_for_timeout(2_000)
    expect(page.get_by_label("Note")).to_be_focused()

    page.get_by_role("button", name="Close", exact=True).focus()
    page.evaluate("document.activeElement.blur()")
    app.post(f"/api/v1/incidents/{number}", {"outcome": "repaired_by_person"}, method="PATCH")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_hidden()
    page.wait_for_timeout(2_000)
    assert page.evaluate("document.activeElement === document.body")


@pytest.mark.parametrize("width", [1280, 320])
def test_a_title_without_a_break_stays_on_the_page(page: Page, app: App, width: int) -> None:
    alert = {"service": "jellyfin", "id": "long", "title": "T" * 180, "severity": "warning"}
    app.post("/api/v1/webhooks/kuma", alert)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{app.url}/incidents/{app.get('/api/v1/incidents')['items'][0]['id']}")
    expect(page.get_by_text("T" * 180).first).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_incidents_are_merged_with_a_preview_and_an_undo(page: Page, app: App) -> None:
    more = "  caddy:\n    checks:\n      - tcp: 127.0.0.1:9\n"
    (app.home / "services.yaml").write_text(f"{SERVICES.lstrip()}{more}")
    first, second = fails(app), fails(app, "caddy")
    page.goto(f"{app.url}/incidents/{second}")

    page.get_by_role("button", name="Merge", exact=True).focus()
    page.keyboard.press("Enter")
    form = page.get_by_role("form", name="Merge this incident")
    expect(form.get_by_label("Merge into")).to_be_focused()
    expect(form).to_contain_text(f"Incident {second} closes as merged into incident {first}.")
    expect(form).to_contain_text(f"Incident {first} also covers caddy.")
    page.keyboard.press("Escape")
    expect(form).to_be_hidden()
    expect(page.get_by_role("button", name="Merge", exact=True)).to_be_focused()

    page.keyboard.press("Enter")
    form.get_by_role("button", name="Merge incidents").click()
    expect(page).to_have_url(f"{app.url}/incidents/{first}")
    services = page.get_by_role("region", name="Services")
    expect(services.get_by_role("listitem")).to_have_count(2)

    page.get_by_role("button", name="Acknowledge").click()
    acknowledged = page.get_by_text("acknowledged", exact=True)
    expect(acknowledged).to_be_visible()
    page.keyboard.press("z")
    expect(acknowledged).to_be_hidden()
    page.keyboard.press("z")
    expect(services.get_by_role("listitem")).to_have_count(1)
    assert [each["state"] for each in app.get("/api/v1/incidents")["items"]] != ["resolved"] * 2
    assert app.get(f"/api/v1/incidents/{second}")["outcome"] == ""


def test_the_overview_lists_what_an_action_repaired(page: Page, app: App) -> None:
    page.goto(f"{app.url}/overview")
    part = page.get_by_role("region", name="Repaired in the last 24 h")
    expect(part.get_by_text("No repairs by actions.")).to_be_visible()
    number = fails(app)
    app.post(f"/api/v1/incidents/{number}", {"outcome": "repaired_by_person"}, method="PATCH")
    with closing(driver.connect(str(app.home / "lamplighter.db"))) as connection:
        repaired = "UPDATE incidents SET outcome = 'repaired', action = 'restart' WHERE id = ?"
        connection.execute(repaired, (number,))

    page.reload()

    row = part.get_by_role("listitem")
    expect(row).to_contain_text("jellyfin repaired by restart")
    assert not looked_at(page, "repaired")
    picture(page, "repaired-1280")
    page.set_viewport_size({"width": 390, "height": 800})
    picture(page, "repaired-390")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name=f"Incident {number}")).to_be_visible()


def test_the_list_follows_and_filters(page: Page, app: App) -> None:
    page.goto(f"{app.url}/incidents")
    expect(page.get_by_role("heading", name="No incidents")).to_be_visible()

    number = fails(app)
    rows = page.get_by_role("region", name="Incidents, newest first").get_by_role("listitem")
    expect(rows).to_have_count(1)
    page.get_by_label("Which").select_option("Resolved")
    expect(page.get_by_role("heading", name="No incidents match.")).to_be_visible()

    app.post(f"/api/v1/incidents/{number}", {"outcome": "unresolved"}, method="PATCH")
    expect(rows).to_contain_text("closed without a repair")


def test_an_unknown_incident_shows_a_message(page: Page, app: App, expected: set[int]) -> None:
    expected.add(404)
    page.goto(f"{app.url}/incidents/99")

    expect(page.get_by_role("heading", name="Incident not found")).to_be_visible()
    page.get_by_role("link", name="All incidents").click()
    expect(page).to_have_url(f"{app.url}/incidents")


def test_the_overview_shows_open_incidents(page: Page, app: App) -> None:
    number = fails(app)
    page.goto(f"{app.url}/overview")

    incident = page.get_by_role("region", name="Open incidents").get_by_role("listitem")
    expect(incident).to_contain_text(re.compile("jellyfin: is down.*, started .* ago", re.DOTALL))
    app.post(f"/api/v1/incidents/{number}", {"outcome": "recovered"}, method="PATCH")
    expect(incident).to_have_count(0)
