"""The stand-in for the Messages API answers like the real one, and as its script says."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from messages_api import Asked, MessagesApi, Turn, fails, says, uses

HELLO = {"role": "user", "content": "Hello"}
LOOK = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look"}]}
SEEN = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "up"}]}


def obedient(asked: Asked) -> Turn:
    return says(f"As you say: {asked.user}")


SCENARIOS = {
    "look": [uses("look", {"service": "caddy"}, saying="I look."), says("It is {{tool_result}}.")],
    "loop": [uses("look", {})],
    "busy": [fails(529, "Overloaded", times=2, then="At last.")],
    "closed": [fails(401, "invalid x-api-key")],
    "dropped": [says("a" * 100, drop_after=2, delta_chars=10)],
    "broken": [says("a" * 100, break_after=2, delta_chars=10)],
    "cached": [says("Hi", usage={"input_tokens": 5, "cache_read_input_tokens": 900})],
    "obedient": obedient,
}


@pytest.fixture(scope="module")
def api() -> Iterator[MessagesApi]:
    with MessagesApi(SCENARIOS) as api:
        yield api


def ask(api: MessagesApi, scenario: str, *messages: Any, **more: Any) -> httpx2.Response:
    body = {"model": "m", "messages": messages or [HELLO], **more}
    headers = {"x-api-key": "sk-ant-very-secret"}
    return httpx2.post(f"{api.url(scenario)}/v1/messages", json=body, headers=headers, timeout=10)


def streamed(answer: httpx2.Response) -> list[dict[str, Any]]:
    lines = answer.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def test_the_answering_turn_is_chosen_by_the_request(api: MessagesApi) -> None:
    first = ask(api, "look").json()
    then = ask(api, "look", HELLO, LOOK, SEEN).json()
    after = ask(api, "look", HELLO, LOOK, SEEN, LOOK, SEEN, LOOK, SEEN).json()

    assert [block["type"] for block in first["content"]] == ["text", "tool_use"]
    assert first["content"][1]["input"] == {"service": "caddy"}
    assert (first["stop_reason"], then["stop_reason"]) == ("tool_use", "end_turn")
    assert then["content"] == after["content"] == [{"type": "text", "text": "It is up."}]


def test_loop_scenario_repeats_its_tool_use(api: MessagesApi) -> None:
    answer = ask(api, "loop", HELLO, *[LOOK, SEEN] * 30).json()

    assert answer["stop_reason"] == "tool_use"


def test_stream_sends_the_turn_in_pieces(api: MessagesApi) -> None:
    told = streamed(ask(api, "look", stream=True))

    assert told[0]["type"] == "message_start"
    assert [each["type"] for each in told[-2:]] == ["message_delta", "message_stop"]
    pieces = [each["delta"] for each in told if each["type"] == "content_block_delta"]
    assert "".join(piece.get("text", "") for piece in pieces) == "I look."
    given = "".join(piece.get("partial_json", "") for piece in pieces)
    assert json.loads(given) == {"service": "caddy"}


def test_error_scenario_fails_the_stated_number_of_times(api: MessagesApi) -> None:
    answers = [ask(api, "busy") for _ in range(3)]

    assert [each.status_code for each in answers] == [529, 529, 200]
    assert answers[0].json()["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert ask(api, "closed").status_code == 401


def test_stream_can_be_interrupted_or_end_with_an_error(api: MessagesApi) -> None:
    with pytest.raises(httpx2.HTTPError):
        ask(api, "dropped", stream=True)
    told = streamed(ask(api, "broken", stream=True))

    assert told[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "overloaded_error"},
    }
    assert ask(api, "broken").json()["content"][0]["text"] == "a" * 100


def test_response_contains_the_usage_of_the_turn(api: MessagesApi) -> None:
    usage = ask(api, "cached").json()["usage"]

    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (5, 900)
    assert usage["output_tokens"] > 0


def test_a_scenario_may_be_a_function(api: MessagesApi) -> None:
    answer = ask(api, "obedient", {"role": "user", "content": "Delete all"}).json()

    assert answer["content"] == [{"type": "text", "text": "As you say: Delete all"}]


def test_recorded_requests_omit_secrets(api: MessagesApi) -> None:
    ask(api, "cached", system=[{"type": "text", "text": "You look."}], tools=[{"name": "look"}])

    asked = api.requests("cached")[-1]
    assert (asked.system, asked.user, asked.tools) == ("You look.", "Hello", ["look"])
    assert "very-secret" not in str(asked.headers)


def test_unknown_path_and_scenario_return_404_and_are_recorded(api: MessagesApi) -> None:
    assert httpx2.get(f"{api.url('look')}/v1/files", timeout=10).status_code == 404
    assert ask(api, "nobody").status_code == 404
    assert [each.path for each in api.everything if each.path == "/v1/files"] == ["/v1/files"]


def test_wrong_key_is_rejected_and_shutdown_does_not_wait_for_clients() -> None:
    with MessagesApi({"slow": [says("never", delay=50)]}, key="right") as api:
        assert ask(api, "default").status_code == 401
        with (
            httpx2.Client(headers={"authorization": "Bearer right"}, timeout=10) as client,
            pytest.raises(httpx2.TimeoutException),
        ):
            client.post(f"{api.url('slow')}/v1/messages", json={"messages": []}, timeout=0.1)
