"""The lines the engine prints: the stream-json form of the Claude CLI."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamplighter.domain.sessions.transcript import Usage

Line = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUsage:
    """The usage of a session up to now; a cost of None is unknown."""

    turns: int
    usage: Usage
    cost: float | None
    duration_ms: int


def init_line(model: str, tools: Sequence[str], *, reached: bool) -> Line:
    """Return the first line of a session; `reached` states whether its tools are available."""
    return {
        "type": "system",
        "subtype": "init",
        "model": model,
        "engine": "messages",
        "tools": list(tools),
        "mcp_servers": [{"name": "lamplighter", "status": "connected" if reached else "failed"}],
    }


def resume_line(times: int, turns: int) -> Line:
    """Return the line that reports that a session resumes after a crash."""
    return {"type": "system", "subtype": "resumed", "times": times, "num_turns": turns}


def retry_line(attempt: int, most: int, seconds: float, status: int | None, kind: str) -> Line:
    """Return the line for a repeated request to a model that did not answer."""
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": attempt,
        "max_retries": most,
        "retry_delay_ms": round(seconds * 1000),
        "error_status": status,
        "error": kind,
    }


def cut_line(words: str) -> Line:
    """Return the line for a marker that was cut off at the token limit, and is dropped."""
    return {"type": "system", "subtype": "cut_off", "text": words}


def usage_line(used: SessionUsage) -> Line:
    """Return the line with the usage of the session up to now."""
    return {"type": "system", "subtype": "spent", **_usage_fields(used)}


def block_line(content: Mapping[str, Any], model: str) -> Line:
    """Return the line of one block that the model gave."""
    message = {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": None,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def partial_line(text: str) -> Line:
    """Return the line for the text of an incomplete answer."""
    delta = {"type": "text_delta", "text": text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}}


def tool_result_line(answer: Mapping[str, Any], values: Mapping[str, Any] | None) -> Line:
    """Return the line for the answer of a tool, as text and as values."""
    return {
        "type": "user",
        "message": {"role": "user", "content": [answer]},
        "parent_tool_use_id": None,
        "tool_use_result": values,
    }


def result_line(text: str, stop: str, used: SessionUsage) -> Line:
    """Return the last line of a session that ended by itself."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "terminal_reason": "completed",
        "stop_reason": stop,
        "duration_ms": used.duration_ms,
        **_usage_fields(used),
    }


def error_line(
    why: str,
    used: SessionUsage,
    *,
    subtype: str,
    terminal_reason: str,
    status: int | None = None,
    api_error: str | None = None,
) -> Line:
    """Return the last line of a session that failed."""
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "errors": [why],
        "terminal_reason": terminal_reason,
        "api_error_status": status,
        "api_error": api_error,
        "duration_ms": used.duration_ms,
        **_usage_fields(used),
    }


def _usage_fields(used: SessionUsage) -> Line:
    return {
        "num_turns": used.turns,
        "total_cost_usd": None if used.cost is None else round(used.cost, 6),
        "usage": {
            "input_tokens": used.usage.uncached,
            "output_tokens": used.usage.output,
            "cache_read_input_tokens": used.usage.cache_read,
            "cache_creation_input_tokens": used.usage.cache_write,
        },
    }
