"""Reads refresh nothing: no read route changes the inputs of a memory's age and confidence."""

from typing import Any

import pytest
from route_requests import Asking, name
from test_api_access import ONLY_ASKS

from lamplighter.api.routes import OPS

READING = [op for op in OPS if op.method == "GET" or op.path in ONLY_ASKS]
AGE = "SELECT id, confidence, trust, active, verified_at, updated_at, decayed_weeks FROM memories"
PROMPT = "How long does jellyfin take to start after a restart?"


def ages(asking: Asking) -> set[tuple[Any, ...]]:
    return set(asking.home.rows(AGE))


@pytest.fixture
def memory(asking: Asking) -> int:
    """Create an unverified memory, which would show the effect of each read."""
    number = asking.memory()
    asking.home.write(
        "UPDATE memories SET confidence = 0.5, trust = 'unverified', verified_at = NULL,"
        " updated_at = '2026-01-01T12:00:00.000000Z' WHERE id = ?",
        number,
    )
    return number


def test_no_read_route_refreshes_a_memory(asking: Asking, memory: int) -> None:
    refreshed = []
    for op in READING:
        address = asking.address(op)
        before = ages(asking)
        asking.ask(op, address=address)
        if not before <= ages(asking):
            refreshed.append(name(op))

    assert refreshed == []
    assert memory in {row[0] for row in ages(asking)}


def test_no_hook_of_an_interactive_session_refreshes_a_memory(asking: Asking, memory: int) -> None:
    given = {"session_id": "reading", "cwd": "/home/ann/ops", "prompt": PROMPT}
    before = ages(asking)

    for event in ("SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop"):
        answer = asking.client.post(f"/api/v1/hooks/{event}", json=given)
        assert answer.status_code == 200, answer.text

    assert before <= ages(asking)
    assert memory in {row[0] for row in before}
