"""A session of the engine `messages`, by the real supervisor with its real tools."""

from collections.abc import Iterator

import pytest
from homes import Home

from messages_api import MessagesApi, says, uses

SERVICES = """
services:
  web:
    checks:
      - tcp: 127.0.0.1:9
    actions:
      - restart: [/bin/sleep, "0.5"]
        wait: 1s
"""
LEARNED = "[MEMORY:remediation:web] A restart helps."
GIVEN = {"service": "web", "action": "restart", "reason": "It is down"}
ACT = uses("run_action", GIVEN, saying=LEARNED)


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi({"mends": [ACT, says("Done: {{tool_result}}")]}) as api:
        yield api


def test_messages_session_acts_through_the_gate_and_gets_prompt_updates(
    home: Home, api: MessagesApi
) -> None:
    (home.path / "services.yaml").write_text(SERVICES)
    home.env |= {"LAMPLIGHTER_ENGINE": "messages", "ANTHROPIC_BASE_URL": api.url("mends")}

    done = home.run("run", "--tier", "3")

    assert done.returncode == 0, done.stdout + done.stderr
    used = home.rows("SELECT service, action, outcome FROM cooldowns")
    assert used == [("web", "restart", "unconfirmed")]
    first, second = api.requests("mends")
    assert "run_action" in first.tools
    assert "A restart helps" not in first.system
    assert "- [remediation] A restart helps." in second.system
    assert second.system.count("## Operational Memory") == 1
    (told,) = home.rows("SELECT injected FROM retellings")
    assert str(told[0]) in second.system
    rows = home.rows("SELECT status, turns, model, cost_usd > 0 FROM sessions")
    assert rows == [("completed", 2, "claude-sonnet-4-5", 1)]


def test_messages_session_without_a_key_fails_with_instructions(home: Home) -> None:
    home.env["LAMPLIGHTER_ENGINE"] = "messages"

    done = home.run("run")

    assert done.returncode == 1
    (reason,) = home.rows("SELECT reason FROM sessions")
    assert "Set ANTHROPIC_API_KEY" in str(reason[0])
