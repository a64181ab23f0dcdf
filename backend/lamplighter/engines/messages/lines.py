"""The lines the engine prints: the stream-json form of the Claude CLI."""

from collections.abc import Mapping, Sequence
from typing import Any

from lamplighter.domain.transcript import Usage

Line = dict[str, Any]


def started(model: str, tools: Sequence[str], *, reached: bool) -> Line:
    """Return the first line of a session; `reached` says whether its tools are."""
    return {
        "type": "system",
        "subtype": "init",
        "model": model,
        "engine": "messages",
        "tools": list(tools),
        "mcp_servers": [{"name": "lamplighter", "status": "connected" if reached else "failed"}],
    }


def resumed(times: int, turns: int) -> Line:
    """Return the line that says that a session goes on after a crash."""
    return {"type": "system", "subtype": "resumed", "times": times, "num_turns": turns}


def retry(attempt: int, most: int, seconds: float, status: int | None, kind: str) -> Line:
    """Return the line that says that the model did not answer and is asked again."""
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": most,
        "retry_delay_ms": round(seconds * 1000),
        "error_status": status,
        "error": kind,
    }


def spent(turns: int, usage: Usage, cost: float | None) -> Line:
    """Return what the session has used up to now; a cost of None is not known."""
    return {"type": "system", "subtype": "spent", **_used(turns, usage, cost)}


def block(content: Mapping[str, Any], model: str) -> Line:
    """Return the line of one block that the model gave."""
    message = {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": None,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def result(answer: Mapping[str, Any], found: Mapping[str, Any] | None) -> Line:
    """Return the line that says what a tool answered, in words and as values."""
    return {
        "type": "user",
        "message": {"role": "user", "content": [answer]},
        "parent_tool_use_id": None,
        "tool_use_result": found,
    }


def finished(
    words: str, *, turns: int, usage: Usage, cost: float | None, duration_ms: int, stop: str
) -> Line:
    """Return the last line of a session that came to its end by itself."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": words,
        "terminal_reason": "completed",
        "stop_reason": stop,
        "duration_ms": duration_ms,
        **_used(turns, usage, cost),
    }


def failed(
    why: str,
    *,
    subtype: str,
    terminal_reason: str,
    turns: int,
    usage: Usage,
    cost: float | None,
    duration_ms: int,
    status: int | None = None,
) -> Line:
    """Return the last line of a session that could not come to its end."""
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "errors": [why],
        "terminal_reason": terminal_reason,
        "api_error_status": status,
        "duration_ms": duration_ms,
        **_used(turns, usage, cost),
    }


def _used(turns: int, usage: Usage, cost: float | None) -> Line:
    return {
        "num_turns": turns,
        "total_cost_usd": None if cost is None else round(cost, 6),
        "usage": {
            "input_tokens": usage.given,
            "output_tokens": usage.gave,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        },
    }
