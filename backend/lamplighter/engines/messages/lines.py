"""The lines that only the `messages` engine prints: the stream-json form of the Claude CLI."""

from typing import Any

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.engines.lines import Line, system_line


def retry_line(attempt: int, most: int, seconds: float, status: int | None, kind: str) -> Line:
    """Return the line for a repeated request to a model that did not answer."""
    return system_line(
        "api_retry",
        attempt=attempt,
        max_retries=most,
        retry_delay_ms=round(seconds * 1000),
        error_status=status,
        error=kind,
    )


def partial_line(text: str) -> Line:
    """Return the line for the text of an incomplete answer."""
    delta = {"type": "text_delta", "text": text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "delta": delta}}


def result_line(text: str, stop: str, used: Line) -> Line:
    """Return the last line of a session that ended by itself."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": text,
        "terminal_reason": "completed",
        "stop_reason": stop,
        **used,
    }


def error_line(why: str, subtype: str, terminal_reason: str, used: Line, **api: Any) -> Line:
    """Return the last line of a session that failed; `api` is what the API reported."""
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "errors": [why],
        "terminal_reason": terminal_reason,
        "api_error_status": None,
        "api_error": None,
        **api,
        **used,
    }


def usage_fields(turns: int, usage: Usage, cost: float | None) -> Line:
    """Return the usage of a session up to now; a cost of None is unknown."""
    return {
        "num_turns": turns,
        "total_cost_usd": None if cost is None else round(cost, 6),
        "usage": usage.fields,
    }
