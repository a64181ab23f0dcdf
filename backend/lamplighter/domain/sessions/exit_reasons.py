"""Exit reasons: why a model's session failed, with advice for an operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.tables import read_table
from lamplighter.domain.text import one_line, shorten

MESSAGE_CHARS: Final = 300
SERVER_FAILS: Final = 500
TOKEN_LIMIT: Final = "token limit"
"""Part of the message by which an engine asks a model to continue a truncated answer."""

_CUT_KINDS: Final = frozenset({"max_output_tokens", "max_tokens"})
_REASONS: Final = dict(read_table(__package__, "exit_reasons.txt"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFailure:
    """Error of an engine: its text, and the codes for programs.

    `status` is the HTTP status of the API's response, `kinds` are names of the error.
    """

    message: str = ""
    status: int | None = None
    kinds: tuple[str, ...] = ()


def explain_failure(end: EngineFailure) -> str:
    """Return why a session failed and the next step; empty for an unknown error."""
    said = end.message.lower()
    if "credit balance" in said:
        return _fill(_REASONS["key:no_credit"], end)
    if end.status is None and "not logged in" in said:
        return _REASONS["key:missing"]
    named = next((_REASONS[kind] for kind in end.kinds if kind in _REASONS), None)
    if end.status is None or named:
        return _fill(named, end) if named else ""
    general = _REASONS["status:5xx" if end.status >= SERVER_FAILS else "status:other"]
    sentence = _REASONS.get(f"status:{end.status}", general)
    return _fill(sentence.replace("{status}", str(end.status)), end)


def is_cut_off(words: str) -> bool:
    """Whether a message of the engine asks a model to continue a truncated answer."""
    return TOKEN_LIMIT in words.lower()


def _fill(sentence: str, end: EngineFailure) -> str:
    words = shorten(one_line(end.message), MESSAGE_CHARS)
    filled = sentence.replace("{words}", words).rstrip(" :")
    return filled if filled.endswith((".", "!", "?")) else f"{filled}."


def at_token_limit(kinds: tuple[str, ...]) -> bool:
    """Whether the last answer of a session was cut off at its limit."""
    return not _CUT_KINDS.isdisjoint(kinds)


def failure_kinds(message: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names that a result line gives its error, the most specific first."""
    names = ("api_error", "terminal_reason", "stop_reason")
    found = (message.get(name) for name in names)
    return tuple(each for each in found if isinstance(each, str))


def describe_exit(status: int | None) -> str:
    """Describe how a program ended: its exit status, and the meaning if known."""
    if status is None:
        return "exit status unknown"
    meaning = _REASONS.get(f"exit:{status}")
    if meaning is None and 128 < status < 128 + 65:
        meaning = f"ended by signal {status - 128}"
    return f"exit {status}: {meaning}" if meaning else f"exit {status}"
