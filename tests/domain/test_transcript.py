"""The readable form of each item that an engine prints."""

import pytest

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
    UnreadableLine,
    transcript_entry,
)


@pytest.mark.parametrize(
    ("item", "entry"),
    [
        (EngineStarted("m"), TranscriptEntry("started", "--- session started ---")),
        (Text("  hello  "), TranscriptEntry("text", "hello")),
        (Text("  hello  ", own=False), TranscriptEntry("text", "hello")),
        (Text(" \n\t"), None),
        (
            ToolUse("Bash", {"command": "docker ps"}),
            TranscriptEntry("tool", '[tool] Bash: {"command":"docker ps"}'),
        ),
        (ToolUse("Say", "plain"), TranscriptEntry("tool", "[tool] Say: plain")),
        (ToolUse("Say", {"a": "ü"}), TranscriptEntry("tool", '[tool] Say: {"a":"ü"}')),
        (ToolUse("x", "a" * 200), TranscriptEntry("tool", "[tool] x: " + "a" * 200)),
        (ToolUse("x", "a" * 201), TranscriptEntry("tool", "[tool] x: " + "a" * 200 + "...")),
        (ToolResult("a" * 300), TranscriptEntry("result", "[result] " + "a" * 300)),
        (ToolResult("a" * 400), TranscriptEntry("result", "[result] " + "a" * 300 + "...")),
        (ToolResult(""), TranscriptEntry("result", "[result] ")),
        (Denied("Bash", "no shell"), TranscriptEntry("denied", "[denied] Bash: no shell")),
        (Retry(2, "overloaded"), TranscriptEntry("retry", "[retry 2] overloaded")),
        (
            Finished(is_error=False, turns=5, cost_usd=0.0123, duration_ms=42000),
            TranscriptEntry(
                "finished",
                "--- session complete (turns=5, cost=$0.0123, duration=42000ms) ---",
            ),
        ),
        (
            Finished(is_error=False),
            TranscriptEntry(
                "finished", "--- session complete (turns=0, cost=unknown, duration=0ms) ---"
            ),
        ),
        (
            Finished(is_error=True, why="error_max_turns"),
            TranscriptEntry("finished", "--- session error (error_max_turns) ---"),
        ),
        (
            Finished(is_error=True, response="API Error: 500"),
            TranscriptEntry("finished", "--- session error (API Error: 500) ---"),
        ),
        (
            Finished(is_error=True),
            TranscriptEntry("finished", "--- session error (no reason given) ---"),
        ),
        (RawLine("npm warn"), TranscriptEntry("raw", "npm warn")),
        (RawLine("  "), None),
        (
            RawLine("<script>alert('xss')</script>"),
            TranscriptEntry("raw", "<script>alert('xss')</script>"),
        ),
        (UnreadableLine("too long"), TranscriptEntry("notice", "too long")),
    ],
)
def test_each_item_has_a_transcript_entry(
    item: TranscriptItem, entry: TranscriptEntry | None
) -> None:
    assert transcript_entry(item) == entry
