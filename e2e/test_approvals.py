"""Requests of a session, and a person's decisions in the app."""

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from app import App
from test_round import SHIFTS

SERVICES = """
services:
  web:
    approve: always
    checks:
      - tcp: 127.0.0.1:9
    actions:
      - restart: [/bin/sh, -c, 'echo "$@" >> {ran}', sh, "web now"]
        wait: 1s
"""
SLOW_MS = 20_000


@pytest.fixture
def app(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(SERVICES.format(ran=home / "ran"))
    patience = getattr(request, "param", "5m")
    env = {"LAMPLIGHTER_ENGINE": "probe", "LAMPLIGHTER_APPROVAL_TIMEOUT": patience}
    started = App(home, env=env).start("web")
    asks(started)
    yield started.start("supervisor")
    started.stop()


def asks(app: App) -> None:
    """Let a session find the service down and request a restart."""
    app.post("/api/v1/sessions", {"tier": 3, "services": ["web"]})


def ran(app: App) -> str:
    path = app.home / "ran"
    return path.read_text() if path.exists() else ""


def decide(app: App, number: int, **body: Any) -> None:
    """Decide over the API, as another person does."""
    sent = urllib.request.Request(
        f"{app.url}/api/v1/approvals/{number}/decision",
        method="PUT",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **app.way_in()},
    )
    urllib.request.urlopen(sent, timeout=10).close()


def test_an_approval_runs_a_command_once(page: Page, app: App) -> None:
    page.goto(f"{app.url}/overview")
    expect(page.get_by_text("Approve restart of web?")).to_be_visible(timeout=SLOW_MS)
    expect(page).to_have_title("(1) Overview · Lamplighter")
    page.goto(f"{app.url}/sessions/1")
    expect(page.get_by_role("link", name="Approve restart of web?")).to_be_visible()

    page.keyboard.press("g")
    page.keyboard.press("a")
    card = page.get_by_role("article", name="restart of web")
    words = card.get_by_role("list", name="Command, by argument").get_by_role("listitem")
    expect(words).to_have_count(5)
    expect(words.nth(4)).to_have_text("web·now")
    expect(card).to_contain_text("connection refused at 127.0.0.1:9")
    page.keyboard.press("a")
    expect(card.get_by_role("button", name="Run")).to_be_focused()
    page.keyboard.press("Escape")
    expect(card.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("a")
    expect(card.get_by_role("button", name="Run")).to_be_focused()
    assert ran(app) == ""

    page.keyboard.press("Enter")

    expect(card).to_contain_text("approved, ran by", timeout=SLOW_MS)
    expect(card.get_by_role("link", name="restart of web")).to_be_focused()
    expect(page).to_have_title("Approvals · Lamplighter")
    expect(card).to_contain_text("failed", timeout=SLOW_MS)
    assert ran(app) == "web now\n"


@pytest.mark.parametrize("width", [1280, 390])
def test_an_approval_shows_all_its_details(page: Page, app: App, width: int) -> None:
    for each in ("Takes 60s to start", "Needs redis", "Answers HTTP 302 when healthy"):
        body = {"category": "timing", "service": "web", "observation": each}
        app.post("/api/v1/memories", body)
    page.goto(f"{app.url}/approvals")
    expect(page.get_by_role("article")).to_be_visible(timeout=SLOW_MS)
    asks(app)
    expect(page.get_by_role("article")).to_have_count(2, timeout=SLOW_MS)
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(SHIFTS)

    def late(route: Route) -> None:
        page.wait_for_timeout(300)
        route.continue_()

    page.route(re.compile(r"/api/v1/approvals/\d+$"), late)
    page.goto(f"{app.url}/approvals")

    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("article").last).to_contain_text("Needs redis")
    page.wait_for_timeout(300)
    assert page.evaluate("window.shifted") <= 0.01, page.evaluate("window.moved")


def test_a_session_that_waits_is_not_counted_as_running(page: Page, app: App) -> None:
    page.goto(f"{app.url}/approvals")
    expect(page.get_by_role("article")).to_be_visible(timeout=SLOW_MS)

    expect(page.get_by_role("link", name="1 waiting for approval")).to_be_visible()
    expect(page.get_by_role("navigation").first.get_by_text("running")).to_be_hidden()


def test_a_denial_is_reported_and_a_changed_command_needs_a_new_approval(
    page: Page, app: App
) -> None:
    page.goto(f"{app.url}/approvals")
    expect(page.get_by_role("article")).to_be_visible(timeout=SLOW_MS)
    page.keyboard.press("e")
    expect(page.get_by_role("textbox", name="Argument 1")).to_be_focused()
    page.get_by_role("textbox", name="Argument 5").fill("replaced")
    page.get_by_role("button", name="Replace").click()

    changed = page.get_by_role("article").last
    expect(page.get_by_role("article")).to_have_count(2)
    expect(changed.get_by_text("edited by a person")).to_be_visible()
    expect(changed).to_contain_text("Original command: ")
    assert ran(app) == ""
    page.keyboard.press("d")
    page.get_by_label("Reason for denying").fill("Not during the backup")
    page.keyboard.press("Control+Enter")

    expect(changed).to_contain_text("Nothing was run. The session was informed.")
    expect(changed).to_contain_text("Not during the backup")
    assert ran(app) == ""


def test_the_focus_waits_for_the_answer_to_a_decision(page: Page, app: App) -> None:
    def answer_late(route: Route) -> None:
        page.wait_for_timeout(2_000)
        route.continue_()

    page.route("**/decision", answer_late)
    page.goto(f"{app.url}/approvals")
    expect(page.get_by_role("article")).to_be_visible(timeout=SLOW_MS)
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Argument 5").fill("replaced")
    page.get_by_role("button", name="Replace").press("Enter")

    expect(page.get_by_role("article")).to_have_count(2)
    title = page.get_by_role("article").last.get_by_role("link", name="Restart of web")
    expect(title).to_be_focused()


def test_an_approval_is_decided_from_the_palette_of_any_page(page: Page, app: App) -> None:
    page.goto(f"{app.url}/events")
    expect(page).to_have_title(re.compile(r"^\(1\) "), timeout=SLOW_MS)

    page.keyboard.press("Control+k")
    page.keyboard.type("deny")
    page.get_by_role("option", name="Deny restart of web").click()
    dialog = page.get_by_role("dialog", name="Deny restart of web?")
    expect(dialog).to_contain_text("web now")
    dialog.get_by_role("button", name="Deny restart of web").click()

    expect(page.get_by_text("Deny restart of web: done.")).to_be_visible()
    assert app.get("/api/v1/approvals?state=denied")["items"][0]["service"] == "web"
    assert ran(app) == ""


@pytest.mark.parametrize("app", ["5s"], indirect=True)
def test_a_decision_made_elsewhere_and_an_expiry_are_shown(page: Page, app: App) -> None:
    page.goto(f"{app.url}/approvals")
    card = page.get_by_role("article", name="restart of web")
    expect(card).to_be_visible(timeout=SLOW_MS)
    page.keyboard.press("d")
    page.get_by_label("Reason for denying").fill("No")

    decide(app, 1, decision="deny", note="I look at it myself")

    expect(card).to_contain_text("Decided by someone else: denied")
    expect(card).to_contain_text("I look at it myself")
    expect(page.get_by_label("Reason for denying")).to_have_count(0)

    asks(app)
    late = card.filter(has_text=re.compile(r"\d s left"))
    expect(late).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("article").filter(has_text="Approval expired")).to_be_visible(
        timeout=SLOW_MS
    )
    assert ran(app) == ""
