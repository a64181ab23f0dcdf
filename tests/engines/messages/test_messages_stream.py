"""Streamed answers: complete however they are split, shown as they arrive, and interrupted."""

import json
import signal
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from messages_sessions import Desk, Session

from lamplighter.domain.sessions.transcript import Partial, Text
from lamplighter.engines.messages.turns import Live
from messages_api import Error, MessagesApi, Turn, says, uses

THOUGHT = {"type": "thinking", "thinking": "Caddy is dôwn – 🔥.", "signature": "c2lnbmVk"}
HIDDEN = {"type": "redacted_thinking", "data": "aGlkZGVu"}
WORDS = "First: caddy is dôwn 🔥.\nThen: I look — twice.\n\n[MEMORY:timing:caddy] Takes 5 s\nEnd"
LOOK = {"type": "tool_use", "name": "look", "input": {"service": "caddy", "why": '🔥 "x" \\ é'}}
BROKEN = "Half an answer.\n[MEMORY:timing:caddy] Takes 9 s\nand then"
NO_END = "The answer was cut off."


def thinks(**more: Any) -> list[Turn]:
    blocks = (THOUGHT, HIDDEN, {"type": "text", "text": WORDS}, LOOK)
    return [Turn(blocks=blocks, delta_chars=7, **more), says("Done.", **more)]


SCENARIOS: dict[str, list[Turn]] = {
    "whole": thinks(),
    **{f"cut{size}": thinks(chunk_bytes=size) for size in (1, 2, 3, 5, 11)},
    "drops": [says(BROKEN, drop_after=4, delta_chars=12)],
    "breaks": [says(BROKEN, break_after=4, delta_chars=12, error=Error(status=529))],
    "early": [says("Never", break_after=0, error=Error(status=529, message="Overloaded"))],
    "gone": [says("Never", drop_after=0)],
    "plain": [says("Well.", plain=True)],
    "slow": [says("One line.\n" * 200, delta_chars=10, delta_delay=0.3)],
    "limit": [
        Turn(
            blocks=(
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "look", "input": {"service": "caddy"}},
            ),
            stop_reason="max_tokens",
        ),
        says("Done."),
    ],
    "empty": [uses("look", {}), says("Done.")],
}


async def ran(api: MessagesApi, gate: Desk, scenario: str, **more: Any) -> Session:
    session = Session(api.url(scenario), Path(gate.path).parent, gate.path, asked=more)
    await session.run()
    return session


def said(session: Session) -> list[str]:
    return [each.text for each in session.items if isinstance(each, Text)]


def retries(session: Session) -> list[dict[str, Any]]:
    return [each for each in session.lines if each.get("subtype") == "api_retry"]


@pytest.mark.parametrize("scenario", ["whole", "cut1", "cut2", "cut3", "cut5", "cut11"])
async def test_an_answer_is_the_same_wherever_its_bytes_are_split(
    api: MessagesApi, gate: Desk, scenario: str
) -> None:
    session = await ran(api, gate, scenario)

    assert said(session) == [WORDS, "Done."]
    assert gate.used == [("look", LOOK["input"])]
    first, second = api.requests(scenario)
    assert (first.body["stream"], second.body["stream"]) == (True, True)
    [_, answer, _] = second.messages
    *before, use = answer["content"]
    assert before == [THOUGHT, HIDDEN, {"type": "text", "text": WORDS}]
    assert (use["name"], use["input"]) == ("look", LOOK["input"])


async def test_a_tool_may_have_no_arguments(api: MessagesApi, gate: Desk) -> None:
    await ran(api, gate, "empty")

    assert gate.used == [("look", {})]


async def test_streamed_text_is_printed_in_whole_lines(api: MessagesApi, gate: Desk) -> None:
    session = await ran(api, gate, "whole")

    kinds = [type(each) for each in session.items]
    assert kinds.index(Partial) < kinds.index(Text)
    parts = [each.text for each in session.items if isinstance(each, Partial)]
    assert WORDS.startswith("\n".join(parts))


@pytest.mark.parametrize(("scenario", "error"), [("drops", None), ("breaks", "overloaded_error")])
async def test_a_broken_answer_is_requested_twice_more_and_not_ingested(
    api: MessagesApi, gate: Desk, no_waiting: None, scenario: str, error: str | None
) -> None:
    session = await ran(api, gate, scenario)

    last = session.lines[-1]
    assert (last["is_error"], last["subtype"], len(retries(session))) == (True, "error_api", 2)
    assert error is None or last["errors"] == [error]
    assert said(session) == []
    assert any(isinstance(each, Partial) for each in session.items)
    once = last["usage"]["input_tokens"] // 3
    assert once > 0
    assert last["usage"]["input_tokens"] == 3 * once, "each answer that broke off is paid for"
    assert len(api.requests(scenario)) == 3


@pytest.mark.parametrize(("scenario", "kind"), [("early", "overloaded"), ("gone", None)])
async def test_a_stream_that_breaks_before_any_text_is_retried(
    api: MessagesApi, gate: Desk, no_waiting: None, scenario: str, kind: str | None
) -> None:
    session = await ran(api, gate, scenario)

    assert len(retries(session)) == 8
    assert kind is None or {each["error"] for each in retries(session)} == {kind}
    assert session.lines[-1]["subtype"] == "error_api"


async def test_a_server_that_does_not_stream_is_reported(api: MessagesApi, gate: Desk) -> None:
    session = await ran(api, gate, "plain")

    assert session.lines[-1]["errors"] == [
        "The server at that address does not stream: it sent application/json instead of "
        "text/event-stream."
    ]
    assert len(api.requests("plain")) == 1


async def test_a_truncated_answer_uses_no_tool(api: MessagesApi, gate: Desk) -> None:
    session = await ran(api, gate, "limit")

    assert gate.used == []
    assert said(session) == ["I look.", "Done."]


def test_an_interrupt_during_an_answer_ends_the_session(
    api: MessagesApi, gate: Desk, tmp_path: Path
) -> None:
    session = Session(api.url("slow"), tmp_path, gate.path)
    process = session.start()
    try:
        waited = monotonic() + 60
        while monotonic() < waited and b"stream_event" not in session.file.read_bytes():
            sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()

    last = session.printed[-1]
    assert (last["type"], last["terminal_reason"]) == ("result", "aborted_streaming")
    assert [line["type"] for line in session.printed].count("stream_event") < 200
    assert said(session) == []


def test_live_text_withholds_partial_lines_and_private_keys() -> None:
    clock, written = iter(range(100)), list[str]()
    live = Live(written.append, clock=lambda: next(clock))
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----\n"

    for piece in ("One", " line.\nTok", "en", "\n", *key.splitlines(keepends=True), "end\n", "x"):
        live.take(piece)

    assert written == ["One line.", "Token", key.rstrip("\n"), "end"]
    assert json.dumps(written)
