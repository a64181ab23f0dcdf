"""Services are edited in the app: previewed, tested, saved, undone; a conflict keeps the input."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from test_phone import picture
from test_round import looked_at

FILE = """\
# ours
services:
  jellyfin:   # films
    checks:
    - {name: web, tcp: 127.0.0.1:9, timeout: 1s}   # from inside
    actions:
    - restart: [docker, restart, jellyfin]

  # the disk of the house
  disk:
    checks:
      - disk: /
        free: 1%
        warn: 1%
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(FILE)
    started = App(home, env={"LAMPLIGHTER_CHECK_INTERVAL": "0"}).start()
    (home / "services.yaml").write_text(FILE)
    yield started
    started.stop()


def test_a_maintenance_window_is_added_checked_and_removed(page: Page, app: App) -> None:
    page.goto(f"{app.url}/editor?service=disk")
    form = page.get_by_role("form", name="Service")
    form.get_by_role("button", name="Add maintenance window").click()
    window = form.get_by_role("group", name="Maintenance window 1")
    zone = page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    expect(window.get_by_label("Time zone")).to_have_value(zone)
    expect(form.get_by_label("Changed lines")).to_contain_text("maintenance:")
    expect(window.locator("[aria-invalid=true]")).to_have_count(0)  # nothing was typed yet
    window.get_by_label("Opens at").fill("0 3 * * sun")
    window.get_by_label("Lasts").fill("soon")
    expect(window.get_by_label("Lasts")).to_have_attribute("aria-invalid", "true")
    window.get_by_label("Lasts").fill("2h")
    expect(form.get_by_label("Changed lines")).to_contain_text("maintenance:")
    expect(window.get_by_label("Lasts")).not_to_have_attribute("aria-invalid", "true")
    assert not looked_at(page, "window")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("disk saved.")).to_be_visible()
    saved = text_of(app)
    assert "cron: 0 3 * * sun" in saved.replace('"', "").replace("'", "")

    page.goto(f"{app.url}/editor?service=disk")
    window.get_by_label("Kind").select_option("once")
    window.get_by_label("From").fill("2026-12-01 22:00")
    window.get_by_label("To (2026").fill("2026-12-02 02:00")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("disk saved.")).to_be_visible()
    page.goto(f"{app.url}/editor?service=disk")
    expect(window.get_by_label("From")).to_have_value("2026-12-01 22:00")
    picture(page, "window-1280")
    page.set_viewport_size({"width": 390, "height": 800})
    window.scroll_into_view_if_needed()
    picture(page, "window-390")
    form.get_by_role("button", name="Remove Maintenance window 1").click()
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("disk saved.")).to_be_visible()
    assert text_of(app) == FILE


def text_of(app: App) -> str:
    return (app.home / "services.yaml").read_text()


def test_a_service_is_added_with_a_test_run_and_undone_by_a_key(page: Page, app: App) -> None:
    page.goto(f"{app.url}/editor")
    page.get_by_role("link", name="Add service").click()
    form = page.get_by_role("form", name="Service")
    expect(form.get_by_label("Name", exact=True).first).to_be_focused()
    page.keyboard.type("root")
    form.get_by_label("Kind").select_option("disk")
    form.get_by_label("Path").fill("relative")
    expect(form.get_by_text("'relative' is not an absolute path")).to_be_visible()
    form.get_by_label("Path").fill("/")
    expect(form.get_by_label("Changed lines")).to_contain_text("+      - disk: /")
    assert text_of(app) == FILE, "nothing is written before it is saved"

    form.get_by_role("button", name="Test").click()
    expect(form.get_by_text("disk: passed")).to_be_visible()
    form.get_by_role("button", name="Save").click()

    expect(page.get_by_text("root saved.")).to_be_visible()
    expect(page.get_by_role("link", name="root disk")).to_be_visible()
    assert text_of(app).startswith(FILE)
    assert "  root:\n    checks:\n      - disk: /\n" in text_of(app)
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("z")
    expect(page.get_by_text("Reverted: services.yaml: root was added.")).to_be_visible()
    expect(page.get_by_role("link", name="root disk")).to_be_hidden()
    assert text_of(app) == FILE
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("services.yaml: root was added")
    expect(history).to_contain_text("reverted")


def test_a_mistake_that_prevents_saving_receives_the_focus(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(422)
    page.goto(f"{app.url}/editor?new=1")
    form = page.get_by_role("form", name="Service")
    form.get_by_label("URL").fill("http://127.0.0.1:9/")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("#edit-name")).to_be_focused()
    expect(form.get_by_text("a name has 1 to 64 characters")).to_be_visible()
    assert text_of(app) == FILE

    page.keyboard.type("web")
    form.get_by_text("More options").first.click()
    form.get_by_label("Interval").first.fill("banana")
    form.get_by_text("More options").first.click()
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_label("Interval").first).to_be_focused()
    expect(form.get_by_text("wanted a duration such as 30s")).to_be_visible()

    form.get_by_label("Interval").first.fill("30s")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("web saved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_role("link", name="Edit disk").click()
    expect(page.get_by_role("heading", name="Edit disk")).to_be_focused()


def test_a_changed_field_leaves_the_rest_of_the_file_unchanged(page: Page, app: App) -> None:
    page.goto(f"{app.url}/editor")
    page.get_by_role("link", name="Edit jellyfin").click()
    form = page.get_by_role("form", name="Service")
    expect(page.get_by_text("Actions and program checks can be edited in the file")).to_be_visible()
    expect(form.get_by_label("Command (one word per line)")).to_be_disabled()

    form.get_by_role("group", name="Check 1").get_by_text("More options").click()
    form.get_by_label("Timeout (5s)").first.fill("2s")
    form.get_by_role("button", name="Save").click()

    expect(page.get_by_text("jellyfin saved.")).to_be_visible()
    assert text_of(app) == FILE.replace("timeout: 1s", "timeout: 2s")
    page.get_by_role("region", name="History").get_by_text("jellyfin was changed").click()
    page.get_by_role("button", name="Revert: services.yaml: jellyfin was changed").click()
    expect(page.get_by_text("Reverted: services.yaml: jellyfin was changed.")).to_be_visible()
    assert text_of(app) == FILE


def test_the_buttons_of_the_form_are_above_the_bar_of_a_phone(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 600})
    page.goto(f"{app.url}/editor?service=jellyfin")
    save = page.get_by_role("form", name="Service").get_by_role("button", name="Save")
    expect(save).to_be_visible()

    edges = "element => element.getBoundingClientRect()"
    bar = page.get_by_role("link", name="Memories").evaluate(edges)
    assert save.evaluate(edges)["bottom"] <= bar["top"]


def test_a_service_is_duplicated_paused_and_deleted(page: Page, app: App) -> None:
    page.goto(f"{app.url}/editor")
    page.get_by_role("link", name="Duplicate jellyfin").click()
    form = page.get_by_role("form", name="Service")
    expect(form.get_by_label("Name", exact=True).first).to_have_value("jellyfin-2")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="jellyfin-2 tcp")).to_be_visible()
    assert text_of(app).count("actions:") == 1, "commands are copied only where that is permitted"

    expect(page.get_by_role("button", name="Delete jellyfin", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Pause disk").click()
    expect(page.get_by_role("button", name="Resume disk")).to_be_visible()

    page.get_by_role("button", name="Delete jellyfin-2").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="jellyfin-2 tcp")).to_be_hidden()
    assert text_of(app) == FILE


def test_a_conflict_shows_the_other_change_and_keeps_the_input(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(412)
    page.goto(f"{app.url}/editor?service=disk")
    form = page.get_by_role("form", name="Service")
    form.get_by_label("Description").fill("The disk")
    expect(form.get_by_label("Changed lines")).to_contain_text("The disk")
    changed = FILE.replace("  disk:\n", "  disk:\n    tags: [home]   # by Ann\n")
    (app.home / "services.yaml").write_text(changed)

    form.get_by_role("button", name="Save").click()

    expect(form.get_by_text("services.yaml was changed meanwhile")).to_be_visible()
    expect(form.get_by_text('tags: – → ["home"]')).to_be_visible()
    expect(form.get_by_label("Description")).to_have_value("The disk")
    form.get_by_role("button", name="Apply on top").click()
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("disk saved.")).to_be_visible()
    assert "    tags: [home]   # by Ann\n" in text_of(app)
    assert "description: The disk" in text_of(app)


def test_the_palette_acts_on_the_selected_row(page: Page, app: App) -> None:
    page.goto(f"{app.url}/editor")
    page.get_by_role("link", name="disk disk").focus()

    page.keyboard.press("Control+k")
    page.keyboard.type("pause disk")
    expect(page.get_by_role("option", name="Pause disk Selected row")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.get_by_role("button", name="Resume disk")).to_be_visible()


def test_a_long_list_of_services_is_filtered_and_the_address_services_leads_to_it(
    page: Page, app: App
) -> None:
    more = "".join(f"  svc-{n}: {{checks: [{{tcp: '127.0.0.1:9'}}]}}\n" for n in range(12))
    (app.home / "services.yaml").write_text(FILE + more)
    page.set_viewport_size({"width": 1280, "height": 400})

    page.goto(f"{app.url}/services")

    expect(page.get_by_role("heading", name="Services", exact=True)).to_be_focused()
    expect(page.locator(".service").first).to_be_in_viewport(ratio=1)
    page.goto(f"{app.url}/editor")
    rows = page.locator(".edit-services > li")
    expect(rows).to_have_count(14)
    page.get_by_label("Filter services").fill("disk")
    expect(rows).to_have_count(1)
    rows.get_by_role("link", name="Edit disk").click()
    page.get_by_role("link", name="Edit services").click()
    expect(rows).to_have_count(1)  # the next one is one key away
    page.get_by_label("Filter services").fill("none of these")
    expect(page.get_by_text("No services match.")).to_be_visible()
    assert not looked_at(page, "filtered")
