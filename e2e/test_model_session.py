"""A session of a model, in the app during its work and afterwards."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app import App
from messages_api import Asked, MessagesApi, Turn, says, uses

SERVICES = """
services:
  caddy:
    approve: always
    checks:
      - tcp: 127.0.0.1:9
    actions:
      - restart: [/bin/true]
        wait: 1s
"""
PATIENCE_MS = 40_000
LEARNED = "[MEMORY:timing:caddy] Starts within 2 s after a restart"
USED = {"input_tokens": 7_210, "output_tokens": 402, "cache_read_input_tokens": 41_000}


class Stage:
    """A model that checks, searches, requests an action, and reports a memory after approval."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def __call__(self, asked: Asked) -> Turn:
        if not any(tool["name"] == "run_action" for tool in asked.body["tools"]):
            return says("Nothing to report.", usage=USED)  # a scheduled round beside the session
        if asked.turn == 0:
            return uses("look", {"service": "caddy"}, saying="I look at caddy first.", usage=USED)
        if asked.turn == 1:
            given = {"query": "caddy does not answer"}
            return uses("mem_search", given, saying="Did it do so before?", usage=USED)
        if asked.turn == 2:
            given = {"service": "caddy", "action": "restart", "reason": "It refuses connections."}
            return uses("run_action", given, saying="I ask to restart it.", usage=USED)
        self.done.wait(20)
        return says(LEARNED, usage=USED)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.done.set()


@pytest.fixture
def app(tmp_path: Path, stage: Stage) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "services.yaml").write_text(SERVICES)
    with MessagesApi({"stage": stage}) as api:
        env = {
            "LAMPLIGHTER_ENGINE": "messages",
            "LAMPLIGHTER_SESSION_DOLLARS": "0.5",
            "ANTHROPIC_BASE_URL": api.url("stage"),
            "ANTHROPIC_API_KEY": "sk-ant-test-0123456789",
        }
        started = App(home, env=env).start("web")
        held = {"category": "remediation", "service": "caddy", "confidence": 0.8}
        words = "A restart mends it when caddy does not answer"
        started.post("/api/v1/memories", {**held, "observation": words})
        started.post("/api/v1/sessions", {"tier": 3, "services": ["caddy"]})
        yield started.start("supervisor")
        stage.done.set()
        started.stop()


def test_the_tools_and_costs_of_a_model_are_shown_while_it_runs(
    page: Page, app: App, stage: Stage
) -> None:
    page.goto(f"{app.url}/overview")
    expect(page.get_by_text("Approve restart of caddy?")).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"{app.url}/sessions/1")
    took = page.get_by_role("list", name="Usage")
    expect(took).to_contain_text("3 of 50 turns", timeout=PATIENCE_MS)
    expect(took).to_contain_text("144.6K tokens in (123K from the cache), 1.2K out")
    expect(took).to_contain_text("of $0.50")
    lines = page.get_by_role("region", name="Output lines")
    turn = lines.get_by_text(re.compile(r"^turn 2 · \d.* · 48.2K tokens in, 402 out · \$"))
    expect(turn).to_be_visible()
    expect(
        lines.get_by_role("button", name=re.compile(r"mem_search.* · [\d.]+ s$"))
    ).to_be_visible()
    rail = page.get_by_role("region", name="Memory activity")
    expect(rail).to_contain_text("caddy does not answer")

    page.get_by_role("link", name="Approve restart of caddy?").click()
    card = page.get_by_role("article", name="restart of caddy")
    expect(card).to_contain_text("It refuses connections.")
    expect(card).to_contain_text("A restart mends it when caddy does not answer")
    card.get_by_role("button", name="Deny").click()
    page.get_by_label("Reason for denying").fill("Not now")
    page.keyboard.press("Control+Enter")
    expect(card).to_contain_text("Nothing was run")

    stage.done.set()
    page.goto(f"{app.url}/sessions/1")
    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=PATIENCE_MS)
    lines.get_by_role("button", name=re.compile("run_action")).click()
    expect(lines).to_contain_text("Not now")
    expect(page.get_by_role("region", name="Memory activity")).to_contain_text("learned")
    page.goto(f"{app.url}/sessions")
    expect(page.get_by_role("row", name="#1")).to_contain_text("messages · ")
