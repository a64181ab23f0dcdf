"""Requests to the stand-in of the Messages API, and the turns of its responses."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, kw_only=True)
class Error:
    """An error response to all requests, or to the first `times` requests of a session and turn."""

    status: int
    message: str = ""
    times: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        kind = KINDS.get(self.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": self.message or kind}}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A response of the model, and its simulated failures.

    After `drop_after` deltas the connection is closed, after `break_after` an error event with
    `error` is sent (both only in a stream). `delay` is before the first byte, `delta_delay` between
    two deltas, in seconds. A stream is sent event by event, or in chunks of `chunk_bytes`; `plain`
    responds with JSON even to a request for a stream.
    """

    blocks: tuple[dict[str, Any], ...] = ()
    error: Error | None = None
    drop_after: int | None = None
    break_after: int | None = None
    delay: float = 0
    delta_delay: float = 0
    delta_chars: int = 48
    chunk_bytes: int = 0
    plain: bool = False
    stop_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_tool(self) -> bool:
        return any(block["type"] == "tool_use" for block in self.blocks)


def says(words: str, **more: Any) -> Turn:
    """Return a turn with this text."""
    return Turn(blocks=({"type": "text", "text": words},), **more)


def uses(tool: str, given: Mapping[str, Any], *, saying: str = "", **more: Any) -> Turn:
    """Return a turn that uses a tool, after an optional text."""
    words = ({"type": "text", "text": saying},) if saying else ()
    return Turn(blocks=(*words, {"type": "tool_use", "name": tool, "input": dict(given)}), **more)


def fails(status: int, message: str = "", *, times: int | None = None, then: str = "") -> Turn:
    """Return a turn that is an error: always, or `times` times and then this text."""
    return says(then, error=Error(status=status, message=message, times=times))


@dataclass(frozen=True)
class Asked:
    """A received request, with the secrets masked in its headers."""

    scenario: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def turn(self) -> int:
        return sum(each.get("role") == "assistant" for each in self.messages)

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        found = self.body.get("messages")
        return found if isinstance(found, list) else []

    @property
    def system(self) -> str:
        return flat(self.body.get("system"))

    @property
    def user(self) -> str:
        """The text of the user's last message."""
        said = [flat(each.get("content")) for each in self.messages if each.get("role") == "user"]
        return said[-1] if said else ""

    @property
    def tools(self) -> list[str]:
        """The names of the offered tools."""
        return [tool["name"] for tool in self.body.get("tools") or []]

    @property
    def results(self) -> list[Mapping[str, Any]]:
        """The results of tools, oldest first, as blocks."""
        lists = [each["content"] for each in self.messages if isinstance(each["content"], list)]
        return [block for each in lists for block in each if block.get("type") == "tool_result"]

    @property
    def result(self) -> str:
        """The text of the last tool result."""
        return flat(self.results[-1].get("content")) if self.results else ""

    @property
    def session(self) -> str:
        """The session of the request, if the client sends one."""
        return self.headers.get("x-claude-code-session-id", "")


Script = Sequence[Turn] | Callable[[Asked], Turn]


def flat(content: Any) -> str:
    """Return the text of a message's content, or of a system prompt."""
    if isinstance(content, str):
        return content
    texts = [block for block in content or () if isinstance(block, dict) and "text" in block]
    return "\n".join(block["text"] for block in texts)


def turn_of(script: Sequence[Turn], number: int) -> Turn:
    """Return the turn after `number` assistant messages."""
    if number < len(script):
        return script[number]
    return [turn for turn in script if not turn.has_tool or turn is script[-1]][-1]


def filled(value: Any, asked: Asked) -> Any:
    """Insert values of the request into the placeholders of a turn."""
    if isinstance(value, str):
        known = {"tool_result": asked.result, "system": asked.system, "user": asked.user}
        return re.sub(r"\{\{(\w+)\}\}", lambda found: known.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {name: filled(each, asked) for name, each in value.items()}
    return [filled(each, asked) for each in value] if isinstance(value, list) else value


def usage(asked: Asked, blocks: Sequence[Mapping[str, Any]], turn: Turn) -> dict[str, int]:
    """Count a token for every four characters, unless the turn declares its usage."""
    return {
        "input_tokens": max(1, len(json.dumps(asked.body)) // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(1, sum(len(json.dumps(block)) for block in blocks) // 4),
        **turn.usage,
    }


def deltas(block: Mapping[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the first form of a block in a stream, and the deltas that complete the block."""
    match block["type"]:
        case "tool_use":
            whole, kind, name = json.dumps(block["input"]), "input_json_delta", "partial_json"
            empty = {**block, "input": {}}
        case "thinking":
            whole, kind, name = block["thinking"], "thinking_delta", "thinking"
            empty = {"type": "thinking", "thinking": "", "signature": ""}
        case "redacted_thinking":
            return dict(block), []
        case _:
            whole, kind, name = block["text"], "text_delta", "text"
            empty = {"type": "text", "text": ""}
    pieces = [
        {"type": kind, name: whole[at : at + size]} for at in range(0, len(whole), max(1, size))
    ]
    if kind == "thinking_delta":
        pieces.append({"type": "signature_delta", "signature": block.get("signature", "c3R1Yg==")})
    return empty, pieces
