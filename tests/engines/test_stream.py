"""The stream-json protocol: no output of an engine stops the reader."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.sessions.transcript import (
    Denied,
    EngineStarted,
    Finished,
    RawLine,
    Retry,
    Text,
    ToolResult,
    ToolUse,
    TranscriptEntry,
    TranscriptItem,
    TurnUsage,
    UnreadableLine,
    Usage,
    UsageReport,
    transcript_entry,
)
from lamplighter.engines.stream import MAX_LEVELS, parse


def line(**message: Any) -> bytes:
    return json.dumps(message).encode()


def assistant(*blocks: Any, **more: Any) -> bytes:
    return line(type="assistant", message={"content": list(blocks)}, **more)


def told(content: bytes) -> list[str]:
    """Return the text that an operator reads for a line."""
    return [entry.text for entry in map(transcript_entry, parse(content)) if entry is not None]


SAYS = {"type": "text", "text": "hello"}
BASH = {"type": "tool_use", "name": "Bash", "input": {"command": "docker ps"}}


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (line(type="system", subtype="init"), ["--- session started ---"]),
        (line(type="system", subtype="hook"), []),
        (line(type="system"), []),
        (assistant({"type": "text", "text": "  hello  "}), ["hello"]),
        (assistant({"type": "text", "text": " \n "}), []),
        (assistant(BASH), ['[tool] Bash: {"command":"docker ps"}']),
        (
            assistant({"type": "tool_use", "name": "x", "input": {"a": "b" * 200}}),
            ['[tool] x: {"a":"' + "b" * 194 + "..."],
        ),
        (
            assistant({"type": "tool_use", "name": "x", "input": {"a": "b" * 192}}),
            ['[tool] x: {"a":"' + "b" * 192 + '"}'],
        ),
        (assistant(SAYS, BASH), ["hello", '[tool] Bash: {"command":"docker ps"}']),
        (
            line(
                type="user",
                message={"content": [{"type": "tool_result", "content": "x" * 400}]},
            ),
            ["[result] " + "x" * 300 + "..."],
        ),
        (
            line(
                type="user",
                message={
                    "content": [
                        {
                            "type": "tool_result",
                            "content": [
                                {"type": "text", "text": "one"},
                                {"type": "text", "text": "two"},
                            ],
                        }
                    ]
                },
            ),
            ["[result] one two"],
        ),
        (
            line(type="user", message={"content": [{"type": "tool_result", "content": None}]}),
            ["[result] "],
        ),
        (
            line(
                type="user",
                message={
                    "content": [
                        {"type": "tool_result", "content": "first"},
                        {"type": "tool_result", "content": "second"},
                    ]
                },
            ),
            ["[result] first", "[result] second"],
        ),
        (
            line(
                type="result",
                is_error=False,
                num_turns=5,
                total_cost_usd=0.0123,
                duration_ms=42000,
            ),
            ["--- session complete (turns=5, cost=$0.0123, duration=42000ms) ---"],
        ),
        (
            line(
                type="result",
                is_error=True,
                subtype="error_max_turns",
                terminal_reason="max_turns",
                errors=["Reached maximum number of turns (5)"],
            ),
            [
                "--- session error (The session reached its turn limit "
                "(LAMPLIGHTER_MAX_TURNS): Reached maximum number of turns (5).) ---"
            ],
        ),
        (
            line(type="result", is_error=True, subtype="success", errors=["API Error: 529"]),
            ["--- session error (API Error: 529) ---"],
        ),
        (
            line(type="result", is_error=True, subtype="success", result="API Error: new"),
            ["--- session error (API Error: new) ---"],
        ),
        (
            line(
                type="user",
                isSynthetic=True,
                message={"content": [{"type": "text", "text": "Output token limit hit."}]},
            ),
            ["Output token limit hit."],
        ),
        (b"npm warn deprecated", ["npm warn deprecated"]),
        (b"<script>alert('xss')</script>", ["<script>alert('xss')</script>"]),
        (b"[1, 2]", ["[1, 2]"]),
        (b'"text"', ['"text"']),
        (b"", []),
        (b" \t ", []),
        (line(type="stream_event", event={}), []),
    ],
)
def test_a_line_is_rendered_for_an_operator(content: bytes, lines: list[str]) -> None:
    assert told(content) == lines


def test_a_block_of_an_answer_reports_the_usage_of_its_turn() -> None:
    used = {"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 1}
    answer = {"id": "msg_1", "model": "m", "content": [BASH], "usage": used}
    block, helper = (
        line(type="assistant", message=answer, parent_tool_use_id=each) for each in (None, "t1")
    )
    call = ToolUse("Bash", {"command": "docker ps"})

    assert parse(block, usage=True) == [
        call,
        TurnUsage("msg_1", "m", Usage(uncached=9, cache_read=90, output=9)),
    ]
    assert parse(block) == parse(helper, usage=True) == [call]


@pytest.mark.parametrize(
    ("content", "items"),
    [
        (line(type="system", subtype="init", model="m"), [EngineStarted("m")]),
        (
            line(type="system", subtype="permission_denied", tool_name="Bash", message="no"),
            [Denied("Bash", "no")],
        ),
        (
            line(type="system", subtype="api_retry", attempt=2, error="overloaded"),
            [Retry(2, "overloaded")],
        ),
        (
            line(
                type="system", subtype="api_retry", attempt=1, error="overloaded", error_status=529
            ),
            [Retry(1, "overloaded (529)")],
        ),
        (
            line(type="system", subtype="api_retry", attempt=1, error="unknown", error_status=None),
            [Retry(1, "the connection failed")],
        ),
        (
            line(type="assistant", message={"content": "plain words"}),
            [Text("plain words")],
        ),
        (assistant(SAYS, parent_tool_use_id="t1"), [Text("hello", own=False)]),
        (assistant(SAYS, is_api_error_message=True), [Text("hello", own=False)]),
        (
            line(type="assistant", message={"model": "<synthetic>", "content": [SAYS]}),
            [Text("hello", own=False)],
        ),
        (assistant(SAYS, parent_tool_use_id=None), [Text("hello", own=True)]),
        (assistant(SAYS, aborted=True), [Text("hello", cut=True)]),
        (
            line(type="user", isSynthetic=True, message={"content": "no visible output"}),
            [],
        ),
        (
            line(type="user", message={"content": "Output token limit hit."}),
            [],
        ),
        (line(type="user", message={"content": "typed by a person"}), []),
        (
            line(
                type="user",
                message={
                    "content": [
                        {"type": "tool_result", "content": "x", "is_error": True},
                        SAYS,
                    ]
                },
                tool_use_result={"ok": True},
            ),
            [ToolResult("x", is_error=True, structured={"ok": True})],
        ),
        (
            line(type="result", is_error=False, result="Report", structured_output={"a": 1}),
            [Finished(is_error=False, response="Report", report={"a": 1})],
        ),
        (line(type="result"), [Finished(is_error=True)]),
        (
            line(
                type="result",
                is_error=False,
                total_cost_usd=0.5,
                usage={"input_tokens": 0, "output_tokens": 0},
                modelUsage={
                    "a": {"inputTokens": 7, "outputTokens": 2, "costBasis": "list"},
                    "b": {"cacheReadInputTokens": 3, "cacheCreationInputTokens": 4},
                },
            ),
            [
                Finished(
                    is_error=False,
                    cost_usd=0.5,
                    usage=Usage(uncached=7, output=2, cache_read=3, cache_write=4),
                )
            ],
        ),
        (
            line(
                type="result",
                is_error=False,
                total_cost_usd=0.5,
                modelUsage={"qwen": {"inputTokens": 7, "costBasis": "unknown"}},
            ),
            [Finished(is_error=False, usage=Usage(uncached=7))],
        ),
        (
            line(type="result", is_error="false", num_turns="5", total_cost_usd=True),
            [Finished(is_error=True)],
        ),
    ],
)
def test_a_line_is_parsed_into_items(content: bytes, items: list[TranscriptItem]) -> None:
    assert parse(content) == items


@pytest.mark.parametrize(
    ("content", "items"),
    [
        (b"\xef\xbb\xbf" + assistant(SAYS), [Text("hello")]),
        (assistant(SAYS) + b"\r", [Text("hello")]),
        (b"  " + assistant(SAYS) + b"  ", [Text("hello")]),
        (assistant(SAYS)[:-1], [RawLine(assistant(SAYS)[:-1].decode())]),
        (assistant(SAYS) + b"{}", [RawLine((assistant(SAYS) + b"{}").decode())]),
        (b"\xff\xfe\x00", [RawLine("\ufffd\ufffd\x00")]),
        (b'{"type":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "odd"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "odd"),
        (
            b'{"type":"result","is_error":false,"total_cost_usd":NaN,"num_turns":Infinity}',
            [Finished(is_error=False)],
        ),
        (
            b'{"type":"result","is_error":false,"total_cost_usd":1e999,"duration_ms":-1e400}',
            [Finished(is_error=False)],
        ),
        (
            b'{"type":"result","is_error":false,"num_turns":1' + b"0" * 400 + b"}",
            [Finished(is_error=False)],
        ),
        (
            b'{"type":"result","is_error":false,"total_cost_usd":-5,"num_turns":-1}',
            [Finished(is_error=False)],
        ),
        (
            b'{"type":"system","subtype":"spent","num_turns":-3,"total_cost_usd":-1e9,'
            b'"usage":{"input_tokens":-7,"output_tokens":1e300}}',
            [UsageReport(0, Usage(), None)],
        ),
        (
            b'{"type":"result","is_error":false,"modelUsage":{'
            + b",".join(b'"m%d":{"inputTokens":999999999999999}' % each for each in range(99))
            + b"}}",
            [Finished(is_error=False, usage=Usage(uncached=10**15))],
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"text","text":"a\\ud800b"}]}}',
            [Text("a?b")],
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"text","text":"a\tb"}]}}',
            [Text("a\tb")],
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"x",'
            b'"input":{"a":"\\udc80"}}]}}',
            [ToolUse("x", {"a": "?"})],
        ),
        (
            b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":7,'
            b'"input":{"a":NaN}}]}}',
            [ToolUse("?", None)],
        ),
    ],
    ids=[
        "BOM",
        "CRLF",
        "spaces",
        "cut off",
        "two values",
        "binary",
        "deep lists",
        "deep objects",
        "NaN",
        "huge floats",
        "huge whole number",
        "less than nothing",
        "spent less than nothing",
        "more than fits",
        "lone surrogate",
        "control character",
        "lone surrogate in input",
        "NaN in input",
    ],
)
def test_malformed_input_is_parsed_as_far_as_possible(
    content: bytes, items: list[TranscriptItem] | str
) -> None:
    if items == "odd":
        items = [UnreadableLine("A line is nested too deeply and was skipped.")]
    assert parse(content) == items


def test_a_number_too_long_to_be_read_passes_through_raw() -> None:
    content = b'{"type":"result","num_turns":' + b"9" * 5_000 + b"}"

    assert parse(content) == [RawLine(content.decode())]


@pytest.mark.timeout(30)
def test_a_line_of_sixteen_megabytes_is_read() -> None:
    text = "x" * 2**24

    assert parse(assistant({"type": "text", "text": text})) == [Text(text)]


@pytest.mark.parametrize("levels", [MAX_LEVELS, MAX_LEVELS + 1, 400, 700, 900])
def test_a_deeply_nested_input_is_truncated_and_can_be_rendered(levels: int) -> None:
    deep: Any = 1
    for _ in range(levels):
        deep = [deep]
    content = assistant({"type": "tool_use", "name": "x", "input": deep})

    def from_deep_down(frames: int) -> TranscriptEntry | None:
        return from_deep_down(frames - 1) if frames else transcript_entry(item)

    (item,) = parse(content)

    assert item == ToolUse("x", deep if levels <= MAX_LEVELS else None)
    assert from_deep_down(300) is not None


@pytest.mark.parametrize(
    ("text", "believed"),
    [
        (Text("a\nb"), "a\nb"),
        (Text("a\nb", cut=True), "a"),
        (Text("a\nb\n", cut=True), "a\nb"),
        (Text("a", cut=True), ""),
        (Text("a\nb", own=False), ""),
    ],
)
def test_the_last_line_of_a_truncated_text_is_not_ingested(text: Text, believed: str) -> None:
    assert text.believed == believed


JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(exclude_categories=[])),
        st.sampled_from(
            [
                "assistant",
                "user",
                "system",
                "result",
                "init",
                "api_retry",
                "permission_denied",
                "text",
                "tool_use",
                "tool_result",
                "<synthetic>",
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "subtype",
                    "message",
                    "content",
                    "text",
                    "name",
                    "input",
                    "is_error",
                    "errors",
                    "result",
                    "model",
                    "num_turns",
                    "total_cost_usd",
                    "duration_ms",
                    "structured_output",
                    "tool_use_result",
                    "attempt",
                    "error",
                    "tool_name",
                    "modelUsage",
                    "api_error_status",
                    "terminal_reason",
                    "isSynthetic",
                ]
            ),
            inner,
            max_size=8,
        ),
    ),
    max_leaves=30,
)


def storable(items: list[TranscriptItem]) -> None:
    for item in items:
        entry = transcript_entry(item)
        if entry is not None:
            entry.text.encode()
        if isinstance(item, Finished):
            json.dumps([item.report, item.cost_usd], allow_nan=False)
        if isinstance(item, ToolResult):
            json.dumps(item.structured, allow_nan=False).encode()


@given(st.binary())
def test_any_bytes_are_parsed_without_an_exception(content: bytes) -> None:
    storable(parse(content))
    storable(parse(b"{" + content + b"}"))


@given(
    st.sampled_from(["assistant", "user", "system", "result"]),
    st.dictionaries(
        st.sampled_from(
            ["message", "subtype", "is_error", "errors", "result", "structured_output"]
        ),
        JSON,
    ),
    st.booleans(),
)
def test_any_json_message_is_parsed_without_an_exception(
    kind: str, message: dict[str, Any], ascii_only: bool
) -> None:
    text = json.dumps({"type": kind, **message}, ensure_ascii=ascii_only)

    storable(parse(text.encode("utf-8", "surrogatepass")))


@given(JSON)
def test_any_json_value_is_parsed_without_an_exception(value: Any) -> None:
    storable(parse(json.dumps(value).encode()))
    storable(parse(json.dumps({"type": value, "message": value}).encode()))
