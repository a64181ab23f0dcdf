"""Sessions from an operator's view: chains, output of any length, memory activity."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App

LINES = 50_000
NEEDLE = "The needle of this haystack"


def spoken(words: str) -> str:
    content = [{"type": "text", "text": words}]
    return json.dumps({"type": "assistant", "message": {"content": content}})


def asked(command: str, answer: str) -> list[str]:
    use = [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]
    result = [{"type": "tool_result", "content": answer}]
    return [
        json.dumps({"type": "assistant", "message": {"content": use}}),
        json.dumps({"type": "user", "message": {"content": result}}),
    ]


def until(app: App, number: int | None) -> None:
    """Wait until this session runs; None: until no session runs."""
    deadline = time.monotonic() + 20
    while app.get("/api/v1/supervisor")["session_id"] != number and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.fixture
def long_one(app: App, tmp_path: Path) -> App:
    """An app whose first session prints 50,000 lines and continues."""
    lines = [
        spoken("\n".join(f"Line {number} " + "word " * (number % 40) for number in part))
        for part in (range(at, at + 25) for at in range(0, LINES, 25))
    ]
    lines[100:100] = [spoken(NEEDLE)]
    file = tmp_path / "long.jsonl"
    file.write_text("".join(line + "\n" for line in [*lines, *asked("docker ps", "a\nb\nc")]))
    app.says(f"file {file}")
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start\n`[MEMORY:timing:caddy] In code`")
    return app


def test_a_session_of_fifty_thousand_lines_is_read_searched_and_followed(
    page: Page, long_one: App
) -> None:
    page.goto(f"{long_one.url}/sessions/1")
    output = page.get_by_role("region", name="Output lines")
    expect(output.get_by_text("[MEMORY:timing:caddy] In code")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^50,0\d\d lines$"))).to_be_visible(timeout=20_000)
    assert page.locator(".log *").count() < 600

    fold = output.get_by_role("button", name=re.compile("Bash: docker ps"))
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("/")
    page.keyboard.type(NEEDLE)
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(output.get_by_text(NEEDLE)).to_be_in_viewport()
    assert page.evaluate("CSS.highlights.get('found-here').size") == 1
    long_one.says("One more\nand another")

    new = page.get_by_role("button", name=re.compile("2 new lines"))
    expect(new).to_be_visible()
    expect(output.get_by_text(NEEDLE)).to_be_in_viewport()
    new.click()
    expect(output.get_by_text("and another")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Following")).to_be_visible()
    output.hover()
    page.mouse.wheel(0, -2_000)
    expect(page.get_by_role("button", name="Paused")).to_be_visible()
    assert page.locator(".log *").count() < 600
    long_one.ends()


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("`[MEMORY:timing:caddy] Takes 3s to start`", "in code"),
        ("> [MEMORY:timing:caddy] Takes 3s to start", "quoted"),
        ('The log says "[MEMORY:timing:caddy] Takes 3s to start"', "quoted"),
    ],
)
def test_an_ignored_marker_is_taken_from_the_rail_and_led_to_by_its_line(
    page: Page, app: App, written: str, reason: str
) -> None:
    app.says("[MEMORY:timing:jellyfin] Takes 60s to start")
    app.says(written)
    page.goto(f"{app.url}/sessions/1")
    rail = page.get_by_role("region", name="Memory activity")
    expect(rail.get_by_role("button", name="1 ignored")).to_be_visible()
    expect(rail.get_by_text(f"ignored: {reason}")).to_be_visible()

    rail.get_by_role("button", name="Ingest").click()

    expect(rail.get_by_role("button", name="2 learned")).to_be_visible()
    links = rail.get_by_role("link", name=re.compile(r"memory \d+"))
    expect(links).to_have_count(2)
    memory = links.first.get_attribute("href")
    assert memory is not None
    page.goto(f"{app.url}/sessions/1#memory-{memory.rsplit('/', 1)[-1]}")
    expect(page.locator(".line[data-chosen]")).to_contain_text("Takes 3s to start")
    app.ends()


def test_a_chain_is_seen_as_one_and_an_engine_is_chosen(page: Page, app: App) -> None:
    page.goto(f"{app.url}/sessions?tier=2")
    for number, words in enumerate(("[ESCALATE:jellyfin] Refused",) * 2 + ("Mended.",), start=1):
        app.says(words)
        until(app, number)
        app.ends()
        until(app, number + 1 if number < 3 else None)
    chain = page.get_by_role("list", name="Chain")
    expect(chain.get_by_role("link")).to_have_count(3)
    expect(chain.get_by_role("link", name="tier 3, remediate, completed")).to_be_visible()

    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("row")).to_have_count(4)
    page.get_by_role("button", name="Group by chain").click()

    expect(page).to_have_url(re.compile("group=chain"))
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("row", name=re.compile("tier 1 to 3")).get_by_role("link").first.click()
    page.get_by_role("button", name="Run again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name="exec", exact=True)).to_be_checked()
    dialog.get_by_text("probe").click()
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog).to_have_count(0)
    assert app.get("/api/v1/requests")["items"][0]["engine"] == "probe"


def test_a_session_of_a_killed_supervisor_shows_what_was_recovered(page: Page, app: App) -> None:
    app.says("First\nsecond\nthird")
    page.goto(f"{app.url}/sessions/1")
    expect(page.get_by_text("third")).to_be_visible()
    line = page.get_by_role("region", name="Output lines").locator(".line", has_text="First")
    expect(line.get_by_role("time")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))

    app.kill("supervisor")
    app.start("supervisor")

    ended = page.get_by_role("region", name="Outcome")
    expect(ended).to_contain_text("4 lines recovered.", timeout=20_000)
    expect(ended).to_contain_text("run this session again")
