"""The whole product with the real Claude CLI: a chain that repairs, and a killed supervisor."""

import os
import signal
from collections.abc import Iterator

import pytest
from homes import Home

from messages_api import Asked, MessagesApi, Turn, says, uses

KEY = "sk-ant-api03-this-is-a-secret"
SERVICES = """
commands: [/usr/bin/test]
services:
  web:
    checks:
      - command: [/usr/bin/test, -e, {home}/up]
        retries: 0
    actions:
      - restart: [/usr/bin/touch, {home}/up]
        for: [command]
"""
LOOK = uses("mcp__lamplighter__look", {"service": "web"}, saying="I look.")
RESTART = uses(
    "mcp__lamplighter__run_action",
    {"service": "web", "action": "restart", "reason": "It does not answer."},
)


def operator(asked: Asked) -> Turn:
    """Check; escalate failures; at tier 3 restart the service, check again, and report."""
    tier = int(asked.system.partition("# Tier ")[2][0])
    last = asked.result if asked.results else ""
    if tier < 3:
        return LOOK if not asked.results else says(f"[ESCALATE:web] It fails at tier {tier}.")
    steps = [LOOK, RESTART, LOOK]
    if asked.turn < len(steps):
        return steps[asked.turn]
    return says(
        f"{last}\n[COOLDOWN:restart:web] success - It is there again.\n"
        "[MEMORY:remediation:web] A restart brings it back"
    )


def never_done(_: Asked) -> Turn:
    return says(f"[EVENT:info:web] The key is {KEY}\n" + "tick " * 9_000, delta_delay=0.05)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi({"operator": operator, "never-done": never_done}) as api:
        yield api


def set_up(home: Home, url: str) -> None:
    (home.path / "services.yaml").write_text(SERVICES.format(home=home.path))
    home.env |= {
        "LAMPLIGHTER_ENGINE": "claude",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
    }


def test_model_repairs_failures_only_through_the_gate(home: Home, api: MessagesApi) -> None:
    set_up(home, api.url("operator"))

    ended = home.run("run", "--tier", "1")

    assert ended.returncode == 0, ended.stderr
    assert (home.path / "up").exists()
    sessions = home.rows("SELECT tier, status, engine, model, turns FROM sessions ORDER BY id")
    assert sessions == [
        (1, "escalated", "claude", "claude-haiku-4-5", 2),
        (2, "escalated", "claude", "claude-sonnet-4-5", 2),
        (3, "completed", "claude", "claude-sonnet-4-5", 4),
    ]
    assert home.rows("SELECT service, action, outcome, marked FROM cooldowns") == [
        ("web", "restart", "success", 1)
    ]
    assert home.rows("SELECT observation FROM memories WHERE tier = 3") == [
        ("A restart brings it back",)
    ]
    assert int(str(home.value("SELECT count(*) FROM sessions WHERE cost_usd > 0"))) == 3
    offered = [set(asked.tools) for asked in api.requests("operator")]
    assert all("mcp__lamplighter__run_action" not in tools for tools in offered[:4])
    assert all("mcp__lamplighter__run_action" in tools for tools in offered[4:])
    assert not any(path.is_dir() for path in (home.path / "sessions").iterdir())
    assert home.until(lambda: not home.left_over())


def test_claude_process_ends_with_its_supervisor_and_leaves_no_secret(
    home: Home, api: MessagesApi
) -> None:
    set_up(home, api.url("never-done"))
    supervisor = home.start("supervisor")
    home.until(lambda: api.requests("never-done"))

    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait()
    home.until(lambda: not home.left_over())
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE status = 'interrupted'"))
    home.until(lambda: not any(path.is_dir() for path in home.outputs(1, "")))

    kept = b"".join(path.read_bytes() for path in home.outputs(1, ""))
    assert KEY.encode() not in kept
