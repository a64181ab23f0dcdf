"""The loop over the Messages API: turns, tools, limits, and errors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from messages_sessions import CHEAP, PROMPT, Desk, Session

from lamplighter.domain.sessions.transcript import (
    AnswerCut,
    EngineStarted,
    Finished,
    Retry,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UsageReport,
)
from lamplighter.engines import CHECKPOINT
from lamplighter.engines.messages import checkpoint, cuts, retries
from lamplighter.engines.messages.retries import RequestFailed
from messages_api import Asked, Error, MessagesApi, Turn, fails, says, uses

MARKER = "[MEMORY:timing:caddy] Starts within 2 s."
TWO = Turn(
    blocks=(
        {"type": "text", "text": "I look at both."},
        {"type": "tool_use", "id": "a", "name": "look", "input": {"service": "caddy"}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {"service": "dns"}},
    )
)
USED = {"input_tokens": 100_000, "output_tokens": 0}
SCENARIOS = {
    "look": [uses("look", {"service": "caddy"}, saying="I look."), says("Seen: {{tool_result}}.")],
    "two": [TWO, says("Both are up.")],
    "loop": [uses("look", {}, usage=USED)],
    "busy": [fails(529, "Overloaded", times=2, then="At last.")],
    "waits": [says("At last.", error=Error(status=429, times=1, headers={"retry-after": "0"}))],
    "closed": [fails(401, "invalid x-api-key")],
    "gone": [fails(404, "model: nope")],
    "refuses": [says("I had rather not.", stop_reason="refusal")],
    "cut": [
        says(
            f"All is well.\n{MARKER}\n[MEMORY:behavior:caddy] Drops the", stop_reason="max_tokens"
        ),
        says(f"{MARKER}\n[MEMORY:behavior:caddy] Drops the connection at night."),
    ],
    "cut_tool": [uses("look", {"service": "ca"}, stop_reason="max_tokens"), says("Short.")],
    "always_cut": [says("And then", stop_reason="max_tokens")] * 9,
    "quiet": [Turn()],
}


def session(api: MessagesApi, gate: Desk, scenario: str, **asked: Any) -> Session:
    return Session(api.url(scenario), Path(gate.path).parent, gate.path, asked)


def whole(asked: Asked) -> bool:
    """Whether each tool result in a request follows its use, and each use has one."""
    wanted: list[str] = []
    for message in asked.messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        answered = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if answered != wanted:
            return False
        wanted = [b["id"] for b in blocks if b["type"] == "tool_use"]
    return not wanted


async def test_a_tool_is_called_and_its_result_sent_to_the_model(
    api: MessagesApi, gate: Desk
) -> None:
    ran = session(api, gate, "look")

    await ran.run()

    assert gate.used == [("look", {"service": "caddy"})]
    started, said, used, spent, seen, last, again, finished = ran.items
    assert started == EngineStarted("claude-haiku-4-5")
    use = "toolu_000000000000000000000001"
    assert (said, used) == (Text("I look."), ToolUse("look", {"service": "caddy"}, use))
    assert seen == ToolResult("caddy is up", use=use)
    assert last == Text("Seen: caddy is up.")
    assert isinstance(spent, UsageReport)
    assert isinstance(again, UsageReport)
    assert spent.turns == 1
    assert isinstance(finished, Finished)
    assert (finished.is_error, finished.turns) == (False, 2)
    assert finished.response == "Seen: caddy is up."
    assert finished.usage == again.usage
    assert finished.cost_usd == pytest.approx(CHEAP.of(again.usage), abs=1e-6)
    assert all(whole(each) for each in api.requests("look"))


async def test_several_tools_of_one_turn_run_in_order(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "two")

    await ran.run()

    assert [given["service"] for _, given in gate.used] == ["caddy", "dns"]
    asked = api.requests("two")[-1]
    assert [each["tool_use_id"] for each in asked.results] == ["a", "b"]
    assert whole(asked)


async def test_each_turn_requests_the_prompt_update_and_replaces_the_last(
    api: MessagesApi, gate: Desk
) -> None:
    gate.told = ["## Environment\nfirst", "## Environment\nsecond"]
    prompt = PROMPT + "x" * 600
    ran = session(api, gate, "look", prompt=prompt)

    await ran.run()

    first, second = api.requests("look")[-2:]
    assert [block["text"] for block in first.body["system"]] == [
        "You investigate.",
        "## Environment\nfirst",
    ]
    assert second.system == "You investigate.\n## Environment\nsecond"
    assert gate.queries == [prompt[:500]] * 2


async def test_the_constant_part_of_each_request_is_marked_for_the_cache(
    api: MessagesApi, gate: Desk
) -> None:
    await session(api, gate, "look").run()

    asked = api.requests("look")[-1].body
    assert all("cache_control" in block for block in asked["system"])
    marks = ["cache_control" in str(message) for message in asked["messages"]]
    assert marks == [False, False, True]


async def test_a_request_to_an_overloaded_model_is_retried(
    api: MessagesApi, gate: Desk, no_waiting: None
) -> None:
    ran = session(api, gate, "busy")

    await ran.run()

    found = [item for item in ran.items if isinstance(item, Retry | Text)]
    assert found == [
        Retry(1, "overloaded (529)"),
        Retry(2, "overloaded (529)"),
        Text("At last."),
    ]


async def test_a_retry_waits_for_the_requested_delay(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "waits")

    await ran.run()

    (told,) = [line for line in ran.lines if line.get("subtype") == "api_retry"]
    assert (told["error_status"], told["error"], told["retry_delay_ms"]) == (429, "rate_limit", 0)


@pytest.mark.parametrize(
    ("attempt", "failed", "least", "most"),
    [
        (1, RequestFailed(529, ""), 0.25, 0.5),
        (3, RequestFailed(None, ""), 1.0, 2.0),
        (8, RequestFailed(500, ""), 15.0, 30.0),
        (1, RequestFailed(429, "", 7.0), 7.0, 7.0),
        (1, RequestFailed(429, "", 9_999.0), 60.0, 60.0),
    ],
)
def test_the_retry_delay_doubles_and_is_random(
    attempt: int, failed: RequestFailed, least: float, most: float
) -> None:
    assert retries.pause(attempt, failed, 0.0) == least
    assert retries.pause(attempt, failed, 1.0) == most


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 200])
def test_permanent_errors_are_not_retried(status: int) -> None:
    assert retries.pause(1, RequestFailed(status, ""), 0.5) is None
    assert retries.pause(9, RequestFailed(529, ""), 0.5) is None


@pytest.mark.parametrize(
    ("scenario", "status", "words"),
    [("closed", 401, "invalid x-api-key"), ("gone", 404, "model: nope")],
)
async def test_a_rejected_request_ends_the_session_at_once(
    api: MessagesApi, gate: Desk, scenario: str, status: int, words: str
) -> None:
    ran = session(api, gate, scenario)

    await ran.run()

    last = ran.lines[-1]
    assert (last["terminal_reason"], last["api_error_status"]) == ("api_error", status)
    assert words in last["errors"][0]
    assert len(api.requests(scenario)) == 1


async def test_requests_to_an_unreachable_model_are_retried_and_then_fail(
    api: MessagesApi, gate: Desk, no_waiting: None
) -> None:
    ran = session(api, gate, "look")
    ran.url = "http://127.0.0.1:9"

    await ran.run()

    attempts = [item.attempt for item in ran.items if isinstance(item, Retry)]
    assert attempts == list(range(1, retries.MAX_RETRIES + 1))
    assert ran.lines[-1]["is_error"] is True


async def test_the_session_ends_at_the_turn_limit(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "loop", max_turns=3)

    await ran.run()

    last = ran.lines[-1]
    assert (last["terminal_reason"], last["num_turns"]) == ("max_turns", 3)


async def test_a_budget_is_exceeded_by_at_most_one_turn(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "loop", budget_usd=0.25)

    await ran.run()

    last = ran.lines[-1]
    assert (last["terminal_reason"], last["num_turns"]) == ("budget_exhausted", 3)
    assert 0.25 <= last["total_cost_usd"] <= 0.25 + 0.1


async def test_the_cost_of_an_unknown_model_is_unknown(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "look", price=None, model="qwen3-coder", budget_usd=0.01)

    await ran.run()

    costs = [item.cost_usd for item in ran.items if isinstance(item, UsageReport | Finished)]
    assert costs == [None, None, None]
    assert ran.lines[-1]["is_error"] is False


async def test_a_model_without_a_price_is_limited_by_tokens(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "loop", price=None)

    await ran.run()

    assert ran.lines[-1]["num_turns"] == 20
    assert "2,000,000 tokens of a model whose price is unknown" in ran.lines[-1]["errors"][0]


async def test_a_refusal_ends_the_session(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "refuses")

    await ran.run()

    assert ran.lines[-1]["terminal_reason"] == "refusal"
    assert Text("I had rather not.") in ran.items


async def test_a_truncated_answer_continues_and_prints_each_marker_once(
    api: MessagesApi, gate: Desk
) -> None:
    ran = session(api, gate, "cut")

    await ran.run()

    said = "\n".join(item.text for item in ran.items if isinstance(item, Text))
    assert said.count(MARKER) == 1
    assert said.count("[MEMORY:behavior:caddy] Drops the") == 1
    assert "[MEMORY:behavior:caddy] Drops the connection at night." in said
    assert api.requests("cut")[-1].user == cuts.CONTINUE_PROMPT
    assert AnswerCut("[MEMORY:behavior:caddy] Drops the") in ran.items


async def test_a_truncated_tool_use_does_not_run(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "cut_tool")

    await ran.run()

    assert gate.used == []
    assert api.requests("cut_tool")[-1].user == cuts.SHORTER_PROMPT


async def test_a_model_with_repeatedly_truncated_answers_is_ended(
    api: MessagesApi, gate: Desk
) -> None:
    ran = session(api, gate, "always_cut")

    await ran.run()

    last = ran.lines[-1]
    assert (last["subtype"], last["num_turns"]) == ("error_max_output_tokens", 5)


async def test_an_empty_answer_ends_the_session(api: MessagesApi, gate: Desk) -> None:
    ran = session(api, gate, "quiet")

    await ran.run()

    assert ran.lines[-1]["result"] == ""
    assert ran.lines[-1]["is_error"] is False


async def test_a_long_session_is_trimmed_by_whole_exchanges(api: MessagesApi, gate: Desk) -> None:
    def much(_: str, __: Mapping[str, Any]) -> dict[str, Any]:
        return {"text": "x" * 30_000, "is_error": False}

    gate.use = much
    usage = {"input_tokens": 20_000, "output_tokens": 10}
    api.scenarios["long"] = [uses("look", {}, usage=usage)]
    ran = session(api, gate, "long", model="qwen3-coder", price=None, max_turns=12)

    await ran.run()

    asked = api.requests("long")
    assert len(asked) == 12
    assert all(whole(each) for each in asked)
    assert all(each.messages[0]["role"] == "user" for each in asked)
    assert max(len(str(each.messages)) for each in asked) < 120_000


async def test_a_prompt_that_is_too_long_is_sent_trimmed(api: MessagesApi, gate: Desk) -> None:
    def strict(asked: Asked) -> Turn:
        if len(str(asked.messages)) > 40_000:
            return fails(400, "prompt is too long: 210000 tokens > 200000 maximum")
        return uses("look", {}) if asked.turn < 3 else says("Done.")

    gate.use = lambda *_: {"text": "x" * 12_000, "is_error": False}
    api.scenarios["strict"] = strict
    ran = session(api, gate, "strict", max_turns=12)

    await ran.run()

    assert ran.lines[-1]["is_error"] is False, ran.lines[-1]


async def test_an_unreachable_supervisor_is_reported_as_a_tool_error(
    api: MessagesApi, tmp_path: Path
) -> None:
    ran = Session(api.url("look"), tmp_path, str(tmp_path / "nobody.sock"))

    await ran.run()

    assert ran.items[0] == EngineStarted("claude-haiku-4-5", ("lamplighter",))
    (answer,) = [item for item in ran.items if isinstance(item, ToolResult)]
    assert answer.is_error
    assert answer.text.startswith("The supervisor does not answer: ")


async def test_the_checkpoint_contains_everything_needed_to_resume(
    api: MessagesApi, gate: Desk
) -> None:
    await session(api, gate, "look").run()

    path = Path(gate.path).parent
    held = checkpoint.load(path)
    assert held is not None
    assert (held.session, held.chain, held.uses) == (7, {"tier": 2, "parent": 6}, {"look": 1})
    assert [each["name"] for each in held.tools] == ["look"]
    assert [each["role"] for each in held.messages] == [*("user", "assistant", "user", "assistant")]
    assert (held.handoffs, held.approvals) == ([{"service": "caddy"}], [])
    assert held.usage.uncached > 0
    assert held.usage != Usage()
    assert (path / CHECKPOINT).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.glob("*.new")] == []


async def test_no_tool_runs_in_the_last_turn(api: MessagesApi, gate: Desk) -> None:
    await session(api, gate, "look", max_turns=1).run()

    assert gate.used == []
