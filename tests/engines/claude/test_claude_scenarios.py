"""The real CLI, one scenario of the API per test: the resulting items."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from real_cli import KEY, engine, run, run_all, task

from lamplighter.domain.sessions.transcript import (
    AnswerCut,
    EngineStarted,
    Retry,
    Text,
    TurnUsage,
    Usage,
)
from lamplighter.engines.claude import TASK_HEADING, session_uuid
from messages_api import Asked, MessagesApi, Turn, fails, says, uses

LATER = "This is a temporary problem of the API; the next round tries again."
WHOLE = "This sentence is cut in the middle. " * 20


def loops(asked: Asked) -> Turn:
    return uses("mcp__lamplighter__look", {}, usage={"input_tokens": 100_000, "output_tokens": 10})


SCENARIOS = {
    "says": [says("[EVENT:info:caddy] up")],
    "400": [fails(400, "messages: bad thing")],
    "long": [fails(400, "prompt is too long: 250000 tokens > 200000 maximum")],
    "401": [fails(401, "invalid x-api-key")],
    "404": [fails(404, "model: claude-haiku-4-5")],
    "429": [fails(429, "rate limited")],
    "500": [fails(500, "Internal server error")],
    "529": [fails(529, "Overloaded")],
    "credit": [fails(400, "Your credit balance is too low to access the Anthropic API.")],
    "busy": [fails(529, "Overloaded", times=2, then="Recovered.")],
    "dropped": [says(WHOLE, drop_after=3)],
    "broken": [says(WHOLE, break_after=3)],
    "cut": [says("[EVENT:info:caddy] one\n[EVENT:info:ca", stop_reason="max_tokens")],
    "refusal": [says("No.", stop_reason="refusal")],
    "loops": loops,
    "slow": [says("[EVENT:info:caddy] looked\n" + "tick " * 400, delta_chars=5, delta_delay=0.05)],
}


@pytest.fixture(scope="module")
def api() -> Iterator[MessagesApi]:
    with MessagesApi(SCENARIOS) as api:
        yield api


async def test_each_failure_has_a_reason_that_an_operator_can_act_on(
    api: MessagesApi, tmp_path: Path
) -> None:
    names = ("400", "long", "401", "404", "429", "500", "529", "credit", "cut", "refusal")
    engines = {name: engine(api.url(name)) for name in names}
    engines["no key"] = engine(api.url("says"), ANTHROPIC_API_KEY="")
    engines["refused"] = engine("http://127.0.0.1:9")

    ended = await run_all(tmp_path, engines)

    reasons = {name: each.finished.reason for name, each in ended.items()}
    begins = {
        "400": "The API rejected the request (400): API Error: 400 messages: bad thing.",
        "long": "The conversation exceeds the context window of the model.",
        "401": "The API rejected the key. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.",
        "404": "The API does not have the model, or the key may not use it. Check",
        "429": f"The API rate limit was reached (429). {LATER}",
        "500": f"The API failed (500). {LATER}",
        "529": f"The API was overloaded (529). {LATER}",
        "credit": "The account of the key has no credit left: Credit balance is too low.",
        "cut": "The model's answers repeatedly reached the output limit",
        "refusal": "The model refused to answer: ",
        "no key": "No API key for the model. Set ANTHROPIC_API_KEY or",
        "refused": "The API cannot be reached. Check the network, the proxy and",
    }
    assert {name: words[: len(begins[name])] for name, words in reasons.items()} == begins
    assert {each.status for each in ended.values()} == {1}
    assert {each.finished.is_error for each in ended.values()} == {True}
    # what the CLI says itself in the model's place is shown, and never believed
    assert all(not each.believed for name, each in ended.items() if name not in ("cut", "refusal"))
    assert all(any(isinstance(i, Text) for i in each.items) for each in ended.values())
    assert len(ended["cut"].believed) == 4  # the CLI asks three times to go on
    assert len([item for item in ended["cut"].items if isinstance(item, AnswerCut)]) == 3


async def test_failed_requests_are_retried_and_each_answer_counts_once(
    api: MessagesApi, tmp_path: Path
) -> None:
    names = ("busy", "dropped", "broken")
    engines = {name: engine(api.url(name), CLAUDE_CODE_MAX_RETRIES="3") for name in names}

    ended = await run_all(tmp_path, engines)

    assert {name: each.believed for name, each in ended.items()} == {
        "busy": ["Recovered."],
        "dropped": [WHOLE],
        "broken": [WHOLE],
    }
    assert {each.status for each in ended.values()} == {0}
    tries = [item for item in ended["busy"].items if isinstance(item, Retry)]
    assert [(each.attempt, each.error) for each in tries] == [
        (1, "overloaded (529)"),
        (2, "overloaded (529)"),
    ]
    assert Retry(1, "the connection failed") in ended["dropped"].items


async def test_turn_and_dollar_limits_end_a_model_that_never_stops(
    api: MessagesApi, tmp_path: Path
) -> None:
    by = engine(api.url("loops"))

    turns, dollars = await asyncio.gather(
        run(tmp_path, by, task(1, max_turns=3)),
        run(tmp_path, by, task(2, max_turns=50, budget_usd=0.15)),
    )

    assert turns.finished.reason == (
        "The session reached its turn limit (LAMPLIGHTER_MAX_TURNS): Reached maximum "
        "number of turns (3)."
    )
    assert (
        dollars.finished.reason
        == "The session reached its spending limit: Reached maximum budget ($0.15)."
    )
    assert dollars.finished.cost_usd == pytest.approx(0.2001)  # it ends with the turn that is begun
    assert dollars.finished.usage == Usage(uncached=200_000, output=20)
    assert (turns.status, dollars.status) == (1, 1)
    used = [each for each in turns.items if isinstance(each, TurnUsage)]
    assert len({each.turn for each in used}) == len(used) == 3  # the output is what is printed
    assert {each.usage for each in used} == {Usage(uncached=100_000, output=8)}


async def test_an_interrupted_session_has_its_text_and_cost(
    api: MessagesApi, tmp_path: Path
) -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def slowly(_: Asked) -> Turn:
        loop.call_soon_threadsafe(loop.call_later, 1, asked.set)  # some of the words, not all
        return SCENARIOS["slow"][0]

    api.scenarios["slowly"] = slowly
    ended = await run(tmp_path, engine(api.url("slowly")), task(), stop_when=asked)

    said = [item for item in ended.items if isinstance(item, Text)]
    assert [each.cut for each in said] == [True]
    assert said[0].believed in ("[EVENT:info:caddy] looked", "")
    assert ended.finished.is_error
    assert ended.finished.reason == "The session was interrupted while the model answered."
    assert ended.finished.cost_usd is not None
    assert ended.finished.cost_usd > 0
    assert ended.status == 0  # which is why the exit status says nothing


async def test_the_cli_expands_no_commands_or_files_in_a_prompt(
    api: MessagesApi, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the-word-in-the-file")
    messages = ("/clear", f"See @{secret} and @/etc/hostname", "!env")
    before = len(api.requests("says"))

    ended = await asyncio.gather(
        *(
            run(tmp_path, engine(api.url("says")), task(number, message=words, injected=words))
            for number, words in enumerate(messages)
        )
    )

    asked = api.requests("says")[before:]
    assert all(each.believed == ["[EVENT:info:caddy] up"] for each in ended)
    assert sorted(each.user for each in asked) == sorted(TASK_HEADING + words for words in messages)
    assert sorted(each.system.rpartition("You look.\n\n")[2] for each in asked) == sorted(messages)
    assert "the-word-in-the-file" not in str([each.body for each in asked])


async def test_the_appended_prompt_arrives_byte_for_byte(api: MessagesApi, tmp_path: Path) -> None:
    texts = [
        "## Operational Memory (1 of 1 memories, ~9 tokens)\n- [timing] Takes 60s\n",
        '--bare "quoted" $HOME `x` \\n {{system}} ${KEY}\n\ttab  \n\n',
        "- ü 漢字 🙂\n" * 9_000,
    ]
    before = len(api.requests("says"))

    await asyncio.gather(
        *(
            run(tmp_path, engine(api.url("says")), task(number, injected=text))
            for number, text in enumerate(texts)
        )
    )

    systems = [each.body["system"][-1]["text"] for each in api.requests("says")[before:]]
    assert sorted(systems) == sorted(f"You look.\n\n{text}" for text in texts)


async def test_the_api_receives_the_session_id_and_no_other_data(
    api: MessagesApi, tmp_path: Path
) -> None:
    given, before = task(77), len(api.everything)

    ended = await run(tmp_path, engine(api.url("says")), given)

    (asked,) = api.everything[before:]
    assert asked.session == session_uuid(given.session)
    assert asked.tools == []
    assert asked.body["model"] == "claude-haiku-4-5"
    assert "hidden" not in str(asked.body) + str(asked.headers)
    assert EngineStarted("claude-haiku-4-5") in ended.items
    assert not [path for path in ended.left if "projects" in path or path.endswith(".jsonl")]


async def test_a_custom_model_uses_a_token_and_has_an_unknown_cost(
    tmp_path: Path,
) -> None:
    with MessagesApi({"says": SCENARIOS["says"]}, key="ollama") as local:
        by = engine(local.url("says"), ANTHROPIC_API_KEY="", ANTHROPIC_AUTH_TOKEN="ollama")
        ended = await run(tmp_path, by, task(model="qwen3-coder"))

    assert ended.believed == ["[EVENT:info:caddy] up"]
    assert ended.finished.cost_usd is None
    assert ended.finished.usage is not None
    assert ended.finished.usage.uncached > 0


async def test_a_running_cli_has_only_the_key_and_leaves_no_process(
    api: MessagesApi, tmp_path: Path
) -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    found: list[dict[str, str]] = []

    def looked_at(_: Asked) -> Turn:
        found.extend(each.environ() for each in running(tmp_path))
        loop.call_soon_threadsafe(asked.set)
        return SCENARIOS["slow"][0]

    api.scenarios["looked"] = looked_at
    await run(tmp_path, engine(api.url("looked")), task(), stop_when=asked)

    (seen,) = found
    assert seen["ANTHROPIC_API_KEY"] == KEY
    assert not [name for name, value in seen.items() if "hidden" in value]
    assert seen["HOME"].startswith(str(tmp_path))
    assert running(tmp_path) == []


def running(directory: Path) -> list[psutil.Process]:
    """Return the CLIs that run on a scratch directory in `directory`."""
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if (words := each.info["cmdline"] or [""])[0].endswith("claude")
        and str(directory) in " ".join(words)
    ]
