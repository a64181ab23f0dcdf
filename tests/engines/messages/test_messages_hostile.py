"""Servers that are no Messages API, or hostile: each gives a clear error, and is bounded."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.engines.messages import model
from lamplighter.engines.messages.assembly import MAX_TOKENS
from lamplighter.engines.messages.model import ANSWER_TOO_LONG, COMPRESSED_ANSWER, Model, Reply
from lamplighter.engines.messages.request import AnswerLimits
from lamplighter.engines.messages.retries import RequestFailed

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
ENDLESS = "endless"
TRICKLE = "trickle"


def sized(body: bytes, more: bytes = b"") -> bytes:
    return HEAD + more + b"content-length: %d\r\n\r\n" % len(body) + body


def events(*events: object) -> bytes:
    return sized(b"".join(b"event: x\ndata: %s\n\n" % json.dumps(each).encode() for each in events))


def message(**usage: object) -> bytes:
    return events(
        {"type": "message_start", "message": {"role": "assistant", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Well."},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    )


def block(**content: object) -> object:
    return {"type": "content_block_start", "index": 0, "content_block": content}


def delta(**content: object) -> object:
    return {"type": "content_block_delta", "index": 0, "delta": content}


STOP = {"type": "message_stop"}
HALF_INPUT = events(
    block(type="tool_use", id="t", name="look", input={}),
    delta(type="input_json_delta", partial_json='{"service": "ca'),
    STOP,
)


@asynccontextmanager
async def answering(answer: bytes | str) -> AsyncIterator[Model]:
    """Answer every request with these bytes, or endlessly; yield a model at this address."""

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here = asyncio.current_task()
        assert here is not None
        meeting.add(here)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                writer.write(HEAD + b"\r\n")
            while answer in (ENDLESS, TRICKLE):
                writer.write(b" " * (2**16 if answer == ENDLESS else 1))
                await writer.drain()
                await asyncio.sleep(0 if answer == ENDLESS else 0.02)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()

    meeting: set[asyncio.Task[None]] = set()
    server = await asyncio.start_server(met, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    asked = Model("x", {"ANTHROPIC_BASE_URL": f"http://{host}:{port}", "ANTHROPIC_API_KEY": "k"})
    try:
        yield asked
    finally:
        await asked.close()
        server.close()
        for each in meeting:
            each.cancel()
        await asyncio.gather(*meeting, return_exceptions=True)


async def ask(answer: bytes | str) -> Reply:
    async with answering(answer) as asked:
        return await asked.ask(["s"], [], [{"role": "user", "content": "Look."}])


PACK = sized(gzip.compress(b" " * 2**20), b"content-encoding: gzip\r\n")
CASES = {
    "endless": (ENDLESS, ANSWER_TOO_LONG),
    "packed": (PACK, COMPRESSED_ANSWER),
    "not HTTP": (b"\0\1\2\r\n\r\n", "RemoteProtocolError"),
    "a page": (
        sized(b"<html>").replace(b"text/event-stream", b"text/html"),
        model.NO_STREAM.format("text/html"),
    ),
    "plain JSON": (
        message().replace(b"text/event-stream", b"application/json"),
        model.NO_STREAM.format("application/json"),
    ),
    "another object": (events({}), model.NOT_THE_API),
    "no object": (events([1]), model.NOT_THE_API),
    "no JSON": (sized(b"event: x\ndata: {\n\n"), model.NOT_THE_API),
    "nested without end": (sized(b"data: " + b"[" * 100_000 + b"\n\n"), model.NOT_THE_API),
    "a piece of no block": (events(delta(type="text_delta", text="x")), model.NOT_THE_API),
    "a number for text": (
        events(block(type="text"), delta(type="text_delta", text=1)),
        model.NOT_THE_API,
    ),
    "half an input for a tool": (HALF_INPUT, model.NOT_THE_API),
    "a list for a tool": (
        events(block(type="tool_use", id="t", name="look", input=[1]), STOP),
        model.NOT_THE_API,
    ),
    "no end": (events(block(type="text", text="Well.")), model.INCOMPLETE_ANSWER),
    "nothing at all": (sized(b""), model.INCOMPLETE_ANSWER),
    "hangs up": (b"", "RemoteProtocolError"),
    "odd retry-after": (
        b"HTTP/1.1 429 No\r\nretry-after: \xb2\r\ncontent-length: 0\r\n\r\n",
        "",
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
async def test_every_invalid_answer_is_a_failure_with_a_message(case: str) -> None:
    answer, words = CASES[case]

    with pytest.raises(RequestFailed) as failed:
        await ask(answer)

    assert words in failed.value.message
    assert failed.value.message


async def test_a_trickling_answer_times_out() -> None:
    async with answering(TRICKLE) as asked:
        asked.answers = AnswerLimits(seconds=0.5)
        with pytest.raises(RequestFailed) as failed:
            await asked.ask(["s"], [], [{"role": "user", "content": "Look."}])

    assert failed.value.message == "No complete answer within 0.5 s (LAMPLIGHTER_ANSWER_TIMEOUT)."
    assert failed.value.passes


@pytest.mark.parametrize(
    ("said", "used"),
    [
        ({"input_tokens": -5, "output_tokens": 7}, Usage(output=7)),
        ({"input_tokens": 10**30, "output_tokens": 1}, Usage(uncached=MAX_TOKENS, output=1)),
        ({"input_tokens": "many", "output_tokens": None}, Usage()),
    ],
    ids=["below nothing", "beyond everything", "words"],
)
async def test_invalid_token_counts_are_ignored(said: dict[str, object], used: Usage) -> None:
    reply = await ask(message(**said))

    assert reply.usage == used
