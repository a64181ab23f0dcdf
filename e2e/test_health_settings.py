"""Health, settings and tokens: failures and advice, the active configuration, and access."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app import App
from lamplighter.repository.store import driver
from postgres_server import PostgresServer
from test_round import RULES, violations

PASSWORD = "hunter2-hunter2"


@pytest.fixture
def set_up(tmp_path: Path) -> Iterator[App]:
    """Start an app with settings from both sources, one of them a file."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "lamplighter.toml").write_text("# by hand\nmax_tier = 2\n")
    started = App(home, env={"LAMPLIGHTER_INTERVAL": "2h"}).start()
    yield started
    started.stop()


def test_health_turns_red_with_advice_when_the_supervisor_is_killed(page: Page, app: App) -> None:
    app.says("All is well")
    page.goto(f"{app.url}/health")
    expect(page.get_by_text("Lamplighter is healthy.")).to_be_visible()

    app.kill("supervisor")
    with closing(driver.connect(str(app.home / "lamplighter.db"))) as connection:
        connection.execute("UPDATE leases SET heartbeat_at = '2026-01-01T00:00:00.000000Z'")
    page.get_by_role("button", name="Refresh").click()

    expect(page.get_by_text("1 check failing: Supervisor.")).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text="No supervisor is running")
    expect(row).to_contain_text("failing")
    expect(row).to_contain_text("Run lamplighter up")
    assert violations(page, RULES) == []


def test_confidences_are_compared_with_what_confirmed_them(page: Page, app: App) -> None:
    page.goto(f"{app.url}/sessions")
    for number, seconds in enumerate((60, 60, 600), 1):
        expect(page.get_by_role("row", name=re.compile(f"#{number} running"))).to_be_visible()
        app.says(f"[MEMORY:timing:jellyfin] Takes {seconds}s to start after a restart")
        app.ends()
        app.post("/api/v1/sessions", {})
    expect(page.get_by_role("row", name=re.compile("#4 running"))).to_be_visible()
    page.goto(f"{app.url}/health")
    section = page.get_by_role("region", name="Calibration")

    rows = section.get_by_role("listitem")

    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text(re.compile(r"0.7 to 0.8\s+confirmed 1 of 1: 100%"))
    expect(rows.nth(1)).to_contain_text(re.compile(r"0.8 to 0.9\s+confirmed 0 of 1: 0%"))
    assert violations(page, RULES) == []


def test_a_full_check_is_run_and_its_result_stored(page: Page, app: App) -> None:
    page.goto(f"{app.url}/health")
    integrity = page.get_by_role("listitem").filter(
        has=page.get_by_role("heading", name="Integrity")
    )
    expect(integrity).to_contain_text("Not checked yet since this web process started")

    page.get_by_role("button", name="Run full check").click()

    expect(integrity).to_contain_text("All pages of the database are intact")
    page.reload()
    expect(integrity).to_contain_text("All pages of the database are intact")


def test_settings_show_the_source_of_each_value(page: Page, set_up: App) -> None:
    set_up.log_in(page)
    page.goto(f"{set_up.url}/settings")

    def setting(name: str) -> str:
        named = page.get_by_role("heading", name=f"LAMPLIGHTER_{name}", exact=True)
        return page.get_by_role("listitem").filter(has=named).inner_text()

    expect(page.get_by_role("list", name="Checks")).to_be_visible()
    assert re.search(r"2h\s+environment, LAMPLIGHTER_INTERVAL", setting("INTERVAL"))
    assert re.search(r"2\s+lamplighter\.toml, line 2", setting("MAX_TIER"))
    assert re.search(r"5m\s+default", setting("IDLE_TIMEOUT"))


def test_a_setting_is_found_changed_with_its_comments_and_undone(page: Page, set_up: App) -> None:
    file = set_up.home / "lamplighter.toml"
    set_up.log_in(page)
    page.goto(f"{set_up.url}/settings")
    page.get_by_label("Find a setting").fill("without output")
    expect(page.get_by_role("heading", name="LAMPLIGHTER_MAX_TIER")).to_be_hidden()
    page.get_by_role("button", name="Change LAMPLIGHTER_IDLE_TIMEOUT").click()
    page.get_by_label("New value").fill("10m")
    expect(page.get_by_label("Changed lines")).to_contain_text('+idle_timeout = "10m"')
    expect(page.get_by_text("A change applies within seconds.")).to_be_visible()

    page.get_by_role("button", name="Save").click()

    named = page.get_by_role("heading", name="LAMPLIGHTER_IDLE_TIMEOUT", exact=True)
    idle = page.get_by_role("listitem").filter(has=named)
    expect(idle).to_contain_text("lamplighter.toml, line 3")
    expect(page.get_by_text("from the next start")).to_be_hidden()
    assert file.read_text() == '# by hand\nmax_tier = 2\nidle_timeout = "10m"\n'
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("z")
    expect(idle).not_to_contain_text("line 3")
    assert file.read_text() == "# by hand\nmax_tier = 2\n"


def test_both_processes_follow_a_setting_without_a_restart(page: Page, set_up: App) -> None:
    file = set_up.home / "lamplighter.toml"
    set_up.log_in(page)
    page.goto(f"{set_up.url}/overview")
    expect(page.get_by_text("Supervisor online")).to_be_visible()
    page.goto(f"{set_up.url}/settings?change=dry_run")
    page.get_by_label("New value").select_option("yes")
    expect(page.get_by_label("Changed lines")).to_contain_text("+dry_run = true")

    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("listitem").filter(has_text="LAMPLIGHTER_PORT")).to_contain_text(
        "changes need a restart"
    )
    expect(page.get_by_role("button", name="Change LAMPLIGHTER_DRY_RUN")).to_be_focused()
    deadline = time.monotonic() + 15
    while not (leader := set_up.get("/api/v1/supervisor"))["dry_run"]:
        assert time.monotonic() < deadline, leader
        time.sleep(0.2)
    assert set_up.get("/api/v1/settings")["warnings"] == []
    expect(page.get_by_text("The supervisor runs with")).to_have_count(0)  # without a reload
    file.write_text("max_tier = 4\n")
    refused = set_up.get("/api/v1/settings")
    [tier] = [each for each in refused["settings"] if each["name"] == "max_tier"]
    assert (tier["value"], bool(refused["refused"])) == ("2", True)


def test_a_value_that_a_start_would_refuse_is_reported_and_the_palette_finds_a_setting(
    page: Page, set_up: App, expected: set[int]
) -> None:
    expected.add(422)
    set_up.log_in(page)
    page.goto(f"{set_up.url}/events")
    page.keyboard.press("Control+k")
    page.keyboard.type("idle timeout")
    page.get_by_role("option", name="LAMPLIGHTER_IDLE_TIMEOUT").click()
    expect(page.get_by_label("New value")).to_be_focused()

    page.get_by_label("New value").fill("soon")

    expect(page.get_by_text("is not a duration such as 30, 90s, 5m or 1h.")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("is not a duration such as 30, 90s, 5m or 1h.")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_focused()  # disabled during the request
    assert "soon" not in (set_up.home / "lamplighter.toml").read_text()


@pytest.fixture
def on_postgres(tmp_path: Path, postgres: PostgresServer) -> Iterator[App]:
    """Start an app on a PostgreSQL server whose address contains a password."""
    url = postgres.create("password", "migrated")
    url = f"{url}{'&' if '?' in url else '?'}password={PASSWORD}"
    started = App(tmp_path / "home", env={"LAMPLIGHTER_DATABASE_URL": url}).start("web")
    yield started
    started.stop()
    postgres.drop("password")


def test_a_password_is_masked_and_a_missing_supervisor_is_explained(
    page: Page, on_postgres: App
) -> None:
    on_postgres.log_in(page)
    page.goto(f"{on_postgres.url}/settings")

    expect(page.get_by_text(re.compile(r"password=\*\*\*"))).to_be_visible()
    expect(page.get_by_text(re.compile("PostgreSQL 1"))).to_be_visible()
    assert PASSWORD not in page.content()

    page.goto(f"{on_postgres.url}/health")
    expect(page.get_by_text("No supervisor has run yet")).to_be_visible()
    expect(page.get_by_role("heading", name="Write-ahead log")).to_have_count(0)


def test_a_token_is_created_shown_once_and_revoked(page: Page, app: App) -> None:
    page.goto(f"{app.url}/settings")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill("backup script")
    assert violations(page, RULES) == []
    page.get_by_role("button", name="Create token").click()

    words = page.get_by_label("Token value")
    expect(words).to_have_text(re.compile(r"^lamp_\d+_\S{20,}$"))
    told = words.inner_text()
    assert violations(page, RULES) == []
    page.get_by_role("button", name="Done").click()
    expect(words).to_have_count(0)
    page.reload()
    mine = (
        page.get_by_role("list", name="Tokens")
        .get_by_role("listitem")
        .filter(has_text="backup script")
    )
    expect(mine).to_be_visible()
    assert told not in page.content()
    bearer = {"Authorization": f"Bearer {told}"}
    address = f"{app.url}/api/v1/memories"
    assert page.request.get(address, headers=bearer).ok

    page.get_by_role("button", name="Revoke backup script").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()

    expect(mine).to_have_count(0)
    assert page.request.get(address, headers=bearer).status == 401
    page.get_by_role("button", name="Show 1 inactive token").click()
    expect(mine).to_contain_text("revoked just now")


def test_the_focus_returns_to_the_next_control(page: Page, app: App) -> None:
    page.add_init_script(  # frames as slow as on a busy machine
        "const frame = window.requestAnimationFrame.bind(window);"
        "window.requestAnimationFrame = (act) => setTimeout(() => frame(act), 60);"
    )
    page.goto(f"{app.url}/settings")
    change = page.get_by_role("button", name="Change LAMPLIGHTER_INTERVAL")
    change.click()
    page.keyboard.press("Escape")
    expect(change).to_be_focused()

    new = page.get_by_role("button", name="New token")
    new.click()
    expect(new).to_be_hidden()
    page.keyboard.press("Escape")
    expect(new).to_be_focused()
    new.click()
    page.get_by_role("textbox", name="Name").fill("backup")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Token value")).to_be_focused()
    page.get_by_role("button", name="Done").click()
    expect(new).to_be_focused()
    page.get_by_role("button", name="Revoke backup").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(new).to_be_focused()


def test_another_browser_is_logged_out_from_the_settings(
    page: Page, browser: Browser, app: App
) -> None:
    with closing(browser.new_context(user_agent="Mozilla/5.0 (X11; Linux) Firefox/140.0")) as other:
        second = other.new_page()
        app.log_in(second)
        page.goto(f"{app.url}/settings")
        listed = page.get_by_role("list", name="Logins").get_by_role("listitem")
        expect(listed).to_have_count(2)
        own = listed.get_by_text("this browser").locator("visible=true")
        expect(own).to_have_count(1)
        assert violations(page, RULES) == []

        page.get_by_role("button", name="End the login of Firefox on Linux").click()
        page.get_by_role("dialog").get_by_role("button", name="End").click()

        expect(page.get_by_text("Logged out.")).to_be_visible()
        expect(listed).to_have_count(1)
        expect(page.get_by_role("heading", name="Logins")).to_be_focused()
        assert second.request.get(f"{app.url}/api/v1/login").status == 401


def test_a_rejected_budget_is_not_shown_as_active(page: Page, app: App) -> None:
    page.goto(f"{app.url}/preview")
    budget = page.get_by_label("tokens", exact=True)
    budget.fill("")
    page.get_by_role("heading", level=1).click()
    expect(budget).to_have_value("2000")


def test_the_palette_fits_a_narrow_screen(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{app.url}/overview")
    page.keyboard.press("Control+k")
    close = page.get_by_role("dialog").get_by_role("button", name="Close")
    expect(close).to_be_in_viewport(ratio=1)
