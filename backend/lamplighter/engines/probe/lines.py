"""The lines the probe prints: the stream-json form of the Claude CLI."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import BinaryIO, Final

from lamplighter.domain.services.service import Service
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.text import harmless

Line = Mapping[str, object]

TOOLS: Final = {1: ("check",), 2: ("check", "isolate"), 3: ("check", "run_action", "wait")}


@dataclass(slots=True)
class Output:
    """The output of a session, a line at a time; it counts the reported checks."""

    file: BinaryIO
    started: float
    session: str | None = None
    turns: int = 0

    def emit(self, line: Line) -> None:
        """Print one line at once."""
        self.turns += line["type"] == "user"
        text = json.dumps({**line, "session_id": self.session})
        self.file.write(text.encode() + b"\n")
        self.file.flush()

    def end(self, result: str, *, failed: bool = False) -> None:
        """Print the last line."""
        last = error_line if failed else result_line
        elapsed = round((monotonic() - self.started) * 1000)
        self.emit(last(result, turns=self.turns, duration_ms=elapsed))


def init_line(tier: int, services: int) -> Line:
    """Return the first line of a session. There is no model."""
    return {
        "type": "system",
        "subtype": "init",
        "model": None,
        "engine": "probe",
        "tools": list(TOOLS[tier]),
        "mcp_servers": [],
        "tier": tier,
        "services": services,
    }


def tool_use_line(tool: str, line: Line, use: str) -> Line:
    """Return the line that names the tool and its input."""
    return _assistant({"type": "tool_use", "id": use, "name": tool, "input": line})


def tool_result_line(
    words: str, use: str, *, failed: bool = False, values: Line | None = None
) -> Line:
    """Return the line with a tool's result, as text and as values."""
    block = {"type": "tool_result", "tool_use_id": use, "content": words, "is_error": failed}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": None,
        "tool_use_result": values,
    }


def check_call_line(service: Service, outcome: CheckOutcome, use: str) -> Line:
    """Return the line that names the check."""
    check = outcome.check
    arguments = {
        "service": service.name,
        "check": check.name,
        "kind": check.kind,
        "target": check.target,
    }
    return tool_use_line("check", arguments, use)


def check_result_line(service: Service, outcome: CheckOutcome, use: str, *, warned: bool) -> Line:
    """Return the line with a check result."""
    found = _values(service, outcome, warned=warned)
    return tool_result_line(describe_outcome(outcome), use, failed=not outcome.ok, values=found)


def text_line(text: str) -> Line:
    """Return a line of the probe's own text."""
    return _assistant({"type": "text", "text": text})


def result_line(result: str, *, turns: int, duration_ms: int) -> Line:
    """Return the last line of a completed round."""
    return _result("success", result, turns=turns, duration_ms=duration_ms, is_error=False)


def error_line(result: str, *, turns: int, duration_ms: int) -> Line:
    """Return the last line of a session that failed."""
    line = _result(
        "error_during_execution", result, turns=turns, duration_ms=duration_ms, is_error=True
    )
    return {**line, "errors": [result]}


def describe_outcome(outcome: CheckOutcome) -> str:
    """Return a check result as text, with details that an event omits."""
    text = outcome.detail if not outcome.ok else f"{outcome.check.name} passed"
    text += f" with {outcome.status}" if outcome.ok and outcome.status else ""
    text += f" in {outcome.latency_ms:g} ms"
    text += f", {outcome.failed} of {outcome.attempts} attempts failed" if outcome.failed else ""
    text += f" ({outcome.detail})" if outcome.flapped else ""
    if len(outcome.statuses) > 1:
        text += f"; checked again: {', '.join(str(status) for status in outcome.statuses[1:])}"
    text += f'; the body begins "{harmless(outcome.excerpt)}"' if outcome.excerpt else ""
    return f"{text}\n{outcome.printed}" if "\n" in outcome.printed else text


def _values(service: Service, outcome: CheckOutcome, *, warned: bool) -> Line:
    return {
        "service": service.name,
        "check": outcome.check.name,
        "kind": outcome.check.kind,
        "ok": outcome.ok,
        "status": outcome.status,
        "latency_ms": outcome.latency_ms,
        "answered": outcome.answered,
        "attempts": outcome.attempts,
        "flapped": outcome.flapped,
        "warned": warned,
        "detail": outcome.detail or outcome.warning,
        "looks": list(outcome.statuses),
    }


def _assistant(block: Line) -> Line:
    message = {
        "type": "message",
        "role": "assistant",
        "model": None,
        "content": [block],
        "stop_reason": None,
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def _result(subtype: str, result: str, *, turns: int, duration_ms: int, is_error: bool) -> Line:
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": is_error,
        "num_turns": turns,
        "total_cost_usd": 0,
        "duration_ms": duration_ms,
        "result": result,
    }
