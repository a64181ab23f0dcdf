"""The working window: the messages that a model receives, within its token limit.

Pure: messages in, messages out. They are trimmed only between exchanges: a message with tool uses
and the answers of those tools are kept or dropped together.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

from lamplighter.domain.text import one_line, shorten

CHARS_PER_TOKEN: Final = 4
OMITTED_NOTE: Final = "(Earlier messages were left out to fit the context window.)"
OMITTED_TOOLS_NOTE: Final = (
    "(Left out to fit the context window. Tools used there, and their results:)"
)
DIGEST_TOKENS: Final = 400
RESULT_CHARS: Final = 120
MIN_SCALE: Final = 0.5
MAX_SCALE: Final = 4.0
WINDOWS: Final = {"claude-": 160_000}
SMALL_WINDOW: Final = 24_000

Message = Mapping[str, Any]


def window_tokens(model: str) -> int:
    """Return the token limit of a model's input; a low one for an unknown model."""
    found = (size for name, size in WINDOWS.items() if model.startswith(name))
    return next(found, SMALL_WINDOW)


def estimate(what: Any) -> int:
    """Estimate the tokens of messages, or of other parts of a request."""
    return ceil(len(json.dumps(what, ensure_ascii=False)) / CHARS_PER_TOKEN)


def scale(requested: int, estimated: int) -> float:
    """Return the factor that corrects an estimate, by the model's own count."""
    return min(MAX_SCALE, max(MIN_SCALE, requested / max(1, estimated)))


def trim_messages(messages: Sequence[Message], room: float) -> list[Message]:
    """Drop the oldest messages until the rest fits into `room` estimated tokens.

    The last exchange is always kept, the first message if it fits.
    """
    exchanges = _exchanges(messages)
    if not exchanges or estimate(list(messages)) <= room:
        return list(messages)
    first, *between, last = exchanges if len(exchanges) > 1 else ([], *exchanges)
    left = room - estimate(last) - estimate([_omitted_note("")])
    opens = bool(first) and estimate(first) <= left
    left -= estimate(first) if opens else 0
    digests = _tool_digest(exchanges[:-1])
    share = min(DIGEST_TOKENS, max(0.0, left) / 2) if digests else 0.0
    retained: list[Message] = []
    left -= share
    for exchange in reversed(between):
        left -= estimate(exchange)
        if left < 0:
            break
        retained[:0] = exchange
    cut = len(exchanges) - 1 - len(_exchanges(retained))
    digest = _digest(_tool_digest(exchanges[:cut]), share)
    return [*(first if opens else ()), *_with_opening([*retained, *last], digest, opens=opens)]


def _tool_digest(exchanges: Sequence[Sequence[Message]]) -> list[str]:
    """Return a line for each used tool: its input, and the beginning of its answer.

    The text of an earlier digest is kept.
    """
    digest: list[str] = []
    messages = itertools.chain.from_iterable(exchanges)
    for block in itertools.chain.from_iterable(map(_blocks, messages)):
        if block.get("type") == "tool_use":
            given = json.dumps(block.get("input"), ensure_ascii=False)
            digest.append(f"- {block.get('name')} {shorten(given, RESULT_CHARS)}")
        elif block.get("type") == "tool_result" and digest:
            how = "failed" if block.get("is_error") else "answered"
            said = shorten(one_line(str(block.get("content"))), RESULT_CHARS)
            digest.append(f"  {how}: {said}")
        elif str(block.get("text", "")).startswith(OMITTED_TOOLS_NOTE):
            digest += block["text"].splitlines()[1:]
    return digest


def _digest(lines: list[str], room: float) -> str:
    """Return the newest lines of a digest that fit."""
    while lines and estimate("\n".join((OMITTED_TOOLS_NOTE, *lines))) > room:
        lines = lines[1:]
    return "\n".join((OMITTED_TOOLS_NOTE, *lines)) if lines else ""


def _blocks(message: Message) -> list[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the messages in groups that only make sense whole."""
    groups: list[list[Message]] = []
    for message in messages:
        if groups and _answers(message):
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def _answers(message: Message) -> bool:
    """Whether a message holds answers of tools that the one before it used."""
    return any(block.get("type") == "tool_result" for block in _blocks(message))


def _with_opening(messages: list[Message], digest: str, *, opens: bool) -> list[Message]:
    """Let what is sent begin with a message of the user, and tell what was left out."""
    if digest or not (opens or messages[0]["role"] == "user"):
        return [_omitted_note(digest), *messages]
    return messages


def _omitted_note(digest: str) -> Message:
    return {"role": "user", "content": digest or OMITTED_NOTE}
