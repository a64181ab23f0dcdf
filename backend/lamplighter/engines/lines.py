"""The lines that our own engines print: the stream-json form of the Claude CLI."""

from collections.abc import Mapping, Sequence
from typing import Any

Line = dict[str, Any]


def system_line(subtype: str, **values: object) -> Line:
    """Return a line of the engine itself."""
    return {"type": "system", "subtype": subtype, **values}


def init_line(engine: str, model: str | None, tools: Sequence[str], **values: object) -> Line:
    """Return the first line of a session."""
    return system_line("init", model=model, engine=engine, tools=list(tools), **values)


def block_line(content: Mapping[str, Any], model: str | None = None) -> Line:
    """Return the line of one block of an answer: of a model, or of an engine without one."""
    message = {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": None,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def tool_result_line(result: Mapping[str, Any], values: Mapping[str, Any] | None) -> Line:
    """Return the line with a tool's result, as a block and as values."""
    return {
        "type": "user",
        "message": {"role": "user", "content": [result]},
        "parent_tool_use_id": None,
        "tool_use_result": values,
    }
