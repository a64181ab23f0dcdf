"""How an operator reads each thing that an engine prints."""

import pytest

from lamplighter.domain.sessions.transcript import (
    Denied,
    Finished,
    Item,
    Odd,
    Raw,
    Retry,
    Shown,
    Started,
    Text,
    ToolResult,
    ToolUse,
    shown,
)


@pytest.mark.parametrize(
    ("item", "entry"),
    [
        (Started("m"), Shown("started", "--- session started ---")),
        (Text("  hello  "), Shown("text", "hello")),
        (Text("  hello  ", own=False), Shown("text", "hello")),
        (Text(" \n\t"), None),
        (
            ToolUse("Bash", {"command": "docker ps"}),
            Shown("tool", '[tool] Bash: {"command":"docker ps"}'),
        ),
        (ToolUse("Say", "plain"), Shown("tool", "[tool] Say: plain")),
        (ToolUse("Say", {"a": "ü"}), Shown("tool", '[tool] Say: {"a":"ü"}')),
        (ToolUse("x", "a" * 200), Shown("tool", "[tool] x: " + "a" * 200)),
        (ToolUse("x", "a" * 201), Shown("tool", "[tool] x: " + "a" * 200 + "...")),
        (ToolResult("a" * 300), Shown("result", "[result] " + "a" * 300)),
        (ToolResult("a" * 400), Shown("result", "[result] " + "a" * 300 + "...")),
        (ToolResult(""), Shown("result", "[result] ")),
        (Denied("Bash", "no shell"), Shown("denied", "[denied] Bash: no shell")),
        (Retry(2, "overloaded"), Shown("retry", "[retry 2] overloaded")),
        (
            Finished(is_error=False, turns=5, cost_usd=0.0123, duration_ms=42000),
            Shown(
                "finished",
                "--- session complete (turns=5, cost=$0.0123, duration=42000ms) ---",
            ),
        ),
        (
            Finished(is_error=False),
            Shown("finished", "--- session complete (turns=0, cost=unknown, duration=0ms) ---"),
        ),
        (
            Finished(is_error=True, why="error_max_turns"),
            Shown("finished", "--- session error (error_max_turns) ---"),
        ),
        (
            Finished(is_error=True, response="API Error: 500"),
            Shown("finished", "--- session error (API Error: 500) ---"),
        ),
        (
            Finished(is_error=True),
            Shown("finished", "--- session error (no reason given) ---"),
        ),
        (Raw("npm warn"), Shown("raw", "npm warn")),
        (Raw("  "), None),
        (
            Raw("<script>alert('xss')</script>"),
            Shown("raw", "<script>alert('xss')</script>"),
        ),
        (Odd("too long"), Shown("notice", "too long")),
    ],
)
def test_each_item_is_shown_in_its_own_words(item: Item, entry: Shown | None) -> None:
    assert shown(item) == entry
