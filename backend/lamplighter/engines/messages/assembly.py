"""An answer, assembled from the events of a stream. Pure: events in, an answer out.

Invalid events raise ValueError, TypeError, KeyError or AttributeError.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.engines.messages.cuts import CUT_OFF

MAX_TOKENS: Final = 10**9
BLOCK_FIELDS: Final = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
DELTA_FIELDS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


@dataclass(slots=True)
class Assembly:
    """An answer: its blocks as far as received, the reason of its end, and its token usage."""

    ended: bool = False
    stop: str = ""
    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _pieces: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    _used: dict[str, Any] = field(default_factory=dict)

    @property
    def received(self) -> bool:
        """Whether any content of the answer was received, not only its frame."""
        begun = (each.get("text") or each.get("data") for each in self._blocks.values())
        return bool(self._pieces) or any(begun)

    def take(self, event: Mapping[str, Any]) -> str:
        """Add the next event; return its text."""
        match event["type"]:
            case "message_start":
                self._used.update(event["message"].get("usage") or {})
            case "content_block_start":
                self._blocks[int(event["index"])] = dict(event["content_block"])
                return str(event["content_block"].get("text", ""))
            case "content_block_delta":
                return self._piece(int(event["index"]), event["delta"])
            case "message_delta":
                self.stop = str(event["delta"].get("stop_reason") or self.stop)
                given = event.get("usage") or {}
                self._used.update({name: each for name, each in given.items() if each is not None})
            case "message_stop":
                self.ended = True
        return ""

    def _piece(self, index: int, delta: Mapping[str, Any]) -> str:
        name = DELTA_FIELDS.get(str(delta["type"]))
        if name is None:  # a type that was never requested
            return ""
        piece = delta[name]
        if index not in self._blocks or not isinstance(piece, str):
            raise ValueError(f"a {name} of no block")
        self._pieces.setdefault((index, name), []).append(piece)
        return piece if name == "text" else ""

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The blocks that may be sent back; raises ValueError for an invalid tool input."""
        return [
            self._whole(index, block)
            for index, block in sorted(self._blocks.items())
            if block.get("type") in BLOCK_FIELDS
        ]

    def _whole(self, index: int, block: Mapping[str, Any]) -> dict[str, Any]:
        kind = block["type"]
        result = {"type": kind, **{name: block.get(name) for name in BLOCK_FIELDS[kind]}}
        if kind == "tool_use":
            return {**result, "input": self._input(index, result["input"])}
        for name in BLOCK_FIELDS[kind]:
            pieces = self._pieces.get((index, name))
            if pieces:
                result[name] = "".join((result[name] or "", *pieces))
        return result

    def _input(self, index: int, value: Any) -> dict[str, Any]:
        """Return the input of a tool; an empty input if the answer was cut off."""
        written = "".join(self._pieces.get((index, "partial_json"), ()))
        try:
            arguments = json.loads(written) if written.strip() else value or {}
        except ValueError:
            if self.stop in CUT_OFF and index == max(self._blocks):
                return {}
            raise
        if not isinstance(arguments, dict):
            raise TypeError("a tool is given an object")
        return arguments

    @property
    def usage(self) -> Usage:
        """The tokens used, as far as the server reported them."""
        return Usage.read(self._count)

    def _count(self, name: str) -> int:
        """Return a count of tokens as it may be believed: a whole number, and not below 0."""
        said = self._used.get(name)
        return min(MAX_TOKENS, max(0, said)) if isinstance(said, int) else 0
