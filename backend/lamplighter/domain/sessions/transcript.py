"""The output of an engine as items, and their display for an operator."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

TOOL_INPUT_CHARS: Final = 200
TOOL_RESULT_CHARS: Final = 300
PARTIAL: Final = "partial"
TURN: Final = "turn"
WHOLE: Final = frozenset({"text", "tool"})
"""Kinds of items that replace the partial text before them."""
TOOL_SUBJECTS: Final = (
    *("command", "file_path", "path", "url", "pattern", "query", "service", "prompt"),
    "description",
)
"""Names of a tool's main input, by priority, for a description in one line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a session's file: its first and last byte, and its content.

    `problem` is why a line could not be stored; its content is then empty. `cut` is whether its
    text was truncated at the token limit.
    """

    start: int
    end: int
    content: bytes
    problem: str = ""
    cut: bool = False


USAGE_FIELDS: Final = {
    "uncached": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
"""The names of the counts in the Messages API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of a model; `uncached` counts input tokens outside the cache."""

    uncached: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @classmethod
    def read(cls, count: Callable[[str], int], names: Mapping[str, str] | None = None) -> "Usage":
        """Return the usage with these counts, by the names of the Messages API or others."""
        return cls(**{ours: count(theirs) for ours, theirs in (names or USAGE_FIELDS).items()})

    @property
    def prompt(self) -> int:
        """All tokens of the input."""
        return self.uncached + self.cache_read + self.cache_write

    @property
    def fields(self) -> dict[str, int]:
        """The counts by the names of the Messages API."""
        return {theirs: getattr(self, ours) for ours, theirs in USAGE_FIELDS.items()}

    def combined(self, other: "Usage", count: Callable[[int, int], int]) -> "Usage":
        """Return the usage whose counts are each computed from two usages."""
        return Usage(
            **{name: count(getattr(self, name), getattr(other, name)) for name in USAGE_FIELDS}
        )


@dataclass(frozen=True, slots=True)
class EngineStarted:
    """The engine has started; `missing` names the tool servers that it could not reach."""

    model: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage of a session up to now: reported after each turn by engines that know it.

    A cost of None is unknown.
    """

    turns: int
    usage: Usage
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """Usage of one turn, as a block of its answer reports it; blocks of one turn share `turn`.

    Input tokens are those of the turn, output tokens those of the block.
    """

    turn: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the assistant. Markers count only if `own` is true.

    Text of a subagent, and text that the engine attributes to the assistant (an API error), are
    shown but not believed. The last line of a text that was `cut` off may be incomplete.
    """

    text: str
    own: bool = True
    cut: bool = False

    @property
    def believed(self) -> str:
        """The part in which markers count."""
        whole = self.text.rpartition("\n")[0] if self.cut else self.text
        return whole if self.own else ""


@dataclass(frozen=True, slots=True)
class Partial:
    """Text of an incomplete answer: shown until the answer is complete, and never believed."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerCut:
    """The assistant's preceding text was cut off at the token limit; the model must continue."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The assistant uses a tool; its result has the same `use`."""

    name: str
    input: Any = None
    use: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool. Never searched for markers; `structured` is its structured form."""

    text: str
    is_error: bool = False
    structured: dict[str, Any] | None = None
    use: str = ""


@dataclass(frozen=True, slots=True)
class Denied:
    """A tool use was refused by policy."""

    tool: str
    message: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The engine's model did not answer; the engine retries."""

    attempt: int
    error: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The engine's final report about the session.

    `why` is its code for a failure, `reason` the explanation for an operator, if known. `cut` is
    whether its last answer was truncated at the token limit.
    """

    is_error: bool
    response: str = ""
    turns: int | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    why: str = ""
    reason: str = ""
    report: dict[str, Any] | None = field(default=None)
    usage: Usage | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line that is not in the protocol, passed through as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that could not be stored completely; `problem` is the reason."""

    problem: str


TranscriptItem = (
    EngineStarted
    | UsageReport
    | TurnUsage
    | Text
    | Partial
    | AnswerCut
    | ToolUse
    | ToolResult
    | Denied
    | Retry
    | Finished
    | RawLine
    | UnreadableLine
)


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One entry of a session's log, as displayed."""

    kind: str
    text: str
    usage: UsageReport | TurnUsage | None = None


def transcript_entry(item: TranscriptItem) -> TranscriptEntry | None:
    """Return the log entry of an item; None if there is nothing to show."""
    match item:
        case Text(text):
            return TranscriptEntry("text", text.strip()) if text.strip() else None
        case ToolUse(name, given):
            return TranscriptEntry(
                "tool", f"[tool] {name}: {_shorten(_compact_json(given), TOOL_INPUT_CHARS)}"
            )
        case ToolResult(text):
            return TranscriptEntry("result", f"[result] {_shorten(text, TOOL_RESULT_CHARS)}")
        case EngineStarted():
            return TranscriptEntry("started", "--- session started ---")
        case Finished():
            return TranscriptEntry("finished", _finished_text(item))
        case _:
            return _minor_entry(item)


def full_transcript_entry(item: TranscriptItem) -> TranscriptEntry | None:
    """Return the log entry of an item in full; the first line contains the input of a tool."""
    match item:
        case ToolUse(name, given):
            return TranscriptEntry("tool", _tool_call_text(name, given))
        case ToolResult(text, is_error):
            return TranscriptEntry("error" if is_error else "result", text.strip("\n"))
        case UsageReport(turns):
            return TranscriptEntry(TURN, f"turn {turns}", item)
        case TurnUsage():
            return TranscriptEntry(TURN, "turn", item)
        case Finished(turns=int(turns), usage=Usage() as usage):
            total = UsageReport(turns, usage, item.cost_usd)
            return TranscriptEntry("finished", _finished_text(item), total)
    return transcript_entry(item)


def _tool_call_text(name: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{name}: {_compact_json(value)}"
    main = next((value[key] for key in TOOL_SUBJECTS if isinstance(value.get(key), str)), "")
    head, *more = main.strip().splitlines() or [_compact_json(value)]
    if main and not more and len(value) == 1:
        return f"{name}: {head}"
    return f"{name}: {head}\n{json.dumps(value, ensure_ascii=False, indent=2, default=str)}"


def _minor_entry(item: TranscriptItem) -> TranscriptEntry | None:
    match item:
        case Denied(tool, message):
            return TranscriptEntry("denied", f"[denied] {tool}: {message}")
        case Retry(attempt, error):
            return TranscriptEntry("retry", f"[retry {attempt}] {error}")
        case AnswerCut(words):
            return TranscriptEntry("notice", words)
        case Partial(text):
            return TranscriptEntry(PARTIAL, text.strip("\n")) if text.strip() else None
        case RawLine(text):
            return TranscriptEntry("raw", text) if text.strip() else None
        case UnreadableLine(problem):
            return TranscriptEntry("notice", problem)
    return None


def _finished_text(item: Finished) -> str:
    if item.is_error:
        why = item.reason or item.why or item.response or "no reason given"
        return f"--- session error ({why}) ---"
    cost = "unknown" if item.cost_usd is None else f"${item.cost_usd:.4f}"
    took = f"duration={item.duration_ms or 0}ms"
    return f"--- session complete (turns={item.turns or 0}, cost={cost}, {took}) ---"


def _compact_json(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
