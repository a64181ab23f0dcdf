"""Exit reasons: why a model's session failed, with advice for an operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.text import one_line, shorten

MESSAGE_CHARS: Final = 300
SERVER_FAILS: Final = 500
TOKEN_LIMIT: Final = "token limit"
"""Part of the message by which an engine asks a model to continue a truncated answer."""

_CUT_KINDS: Final = frozenset({"max_output_tokens", "max_tokens"})
_LATER: Final = "This is a temporary problem of the API; the next round tries again."
_STATUSES: Final = {
    401: "The API rejected the key. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.",
    403: "The key lacks permission for this request: {words}",
    404: (
        "The API does not have the model, or the key may not use it. Check "
        "LAMPLIGHTER_MODEL_TIER1 to LAMPLIGHTER_MODEL_TIER3 and ANTHROPIC_BASE_URL."
    ),
    413: (
        "The request is larger than the API allows, because the tool answers of the "
        "session are too long."
    ),
    429: f"The API rate limit was reached (429). {_LATER}",
    529: f"The API was overloaded (529). {_LATER}",
}
_NO_CREDIT: Final = "The account of the key has no credit left: {words}"
_NO_KEY: Final = (
    "No API key for the model. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the "
    "environment of Lamplighter."
)
_ENDS: Final = {
    "max_turns": "The session reached its turn limit (LAMPLIGHTER_MAX_TURNS): {words}",
    "budget_exhausted": "The session reached its spending limit: {words}",
    "prompt_too_long": (
        "The conversation exceeds the context window of the model. Lower "
        "LAMPLIGHTER_MEMORY_BUDGET or the number of turns: {words}"
    ),
    "connection_failed": (
        "The API cannot be reached. Check the network, the proxy and ANTHROPIC_BASE_URL. {words}"
    ),
    "max_output_tokens": (
        "The model's answers repeatedly reached the output limit (CLAUDE_CODE_MAX_OUTPUT_TOKENS)."
    ),
    "output_tokens": (
        "The model's answers repeatedly reached the output limit (LAMPLIGHTER_OUTPUT_TOKENS)."
    ),
    "refusal": "The model refused to answer: {words}",
    "aborted_streaming": "The session was interrupted while the model answered.",
    "aborted_tools": "The session was interrupted while a tool ran.",
}


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
        return _fill(_NO_CREDIT, end)
    if end.status is None and "not logged in" in said:
        return _NO_KEY
    named = next((_ENDS[kind] for kind in end.kinds if kind in _ENDS), None)
    sentence = named or _status_reason(end.status)
    return _fill(sentence, end) if sentence else ""


def is_cut_off(words: str) -> bool:
    """Whether a message of the engine asks a model to continue a truncated answer."""
    return TOKEN_LIMIT in words.lower()


def _status_reason(status: int | None) -> str | None:
    if status is None:
        return None
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= SERVER_FAILS:
        return f"The API failed ({status}). {_LATER}"
    return f"The API rejected the request ({status}): {{words}}"


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


_EXIT_MEANINGS: Final = {
    126: "permission denied for the command",
    127: "command not found",
    130: "interrupted",
    131: "quit by SIGQUIT",
    132: "an illegal instruction",
    134: "aborted",
    135: "a bus error",
    137: "killed, possibly because memory ran out",
    139: "a segmentation fault",
    141: "broken pipe",
    143: "terminated",
    152: "CPU time limit exceeded",
    153: "file size limit exceeded",
}


def describe_exit(status: int | None) -> str:
    """Describe how a program ended: its exit status, and the meaning if known."""
    if status is None:
        return "exit status unknown"
    meaning = _EXIT_MEANINGS.get(status)
    if meaning is None and 128 < status < 128 + 65:
        meaning = f"ended by signal {status - 128}"
    return f"exit {status}: {meaning}" if meaning else f"exit {status}"
