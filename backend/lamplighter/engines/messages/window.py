"""The working window: the messages that a model is sent, within its number of tokens.

Pure: messages in, messages out. They are cut only between exchanges: a message
that uses tools and the answers of those tools stay or go together.
"""

import json
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, Final

CHARS_PER_TOKEN: Final = 4
LEFT_OUT: Final = "(What was said before was left out: there is no room for it.)"
LEAST_SCALE: Final = 0.5
MOST_SCALE: Final = 4.0
WINDOWS: Final = {"claude-": 160_000}
SMALL_WINDOW: Final = 24_000

Message = Mapping[str, Any]


def size_of(model: str) -> int:
    """Return how many tokens a model may be sent; of a model we do not know, few."""
    found = (size for name, size in WINDOWS.items() if model.startswith(name))
    return next(found, SMALL_WINDOW)


def estimate(what: Any) -> int:
    """Estimate the tokens of messages, or of whatever else goes into a request."""
    return ceil(len(json.dumps(what, ensure_ascii=False)) / CHARS_PER_TOKEN)


def scale(asked: int, estimated: int) -> float:
    """Return what an estimate has to be multiplied by, as the model's own count says."""
    return min(MOST_SCALE, max(LEAST_SCALE, asked / max(1, estimated)))


def trimmed(messages: Sequence[Message], room: float) -> list[Message]:
    """Leave the oldest out until the rest fits into `room` estimated tokens.

    The last exchange is always kept, the first message where it fits.
    """
    exchanges = _exchanges(messages)
    if not exchanges or estimate(list(messages)) <= room:
        return list(messages)
    first, *between, last = exchanges if len(exchanges) > 1 else ([], *exchanges)
    left = room - estimate(last) - estimate([_left_out()])
    opens = bool(first) and estimate(first) <= left
    left -= estimate(first) if opens else 0
    kept: list[Message] = []
    for exchange in reversed(between):
        left -= estimate(exchange)
        if left < 0:
            break
        kept[:0] = exchange
    return [*(first if opens else ()), *_opened([*kept, *last], opens=opens)]


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the messages in groups that only make sense whole."""
    found: list[list[Message]] = []
    for message in messages:
        if found and _answers(message):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def _answers(message: Message) -> bool:
    """Whether a message holds answers of tools that the one before it used."""
    content = message["content"]
    return not isinstance(content, str) and any(
        block.get("type") == "tool_result" for block in content
    )


def _opened(messages: list[Message], *, opens: bool) -> list[Message]:
    """Let what is sent begin with a message of the user: the model wants it so."""
    if opens or messages[0]["role"] == "user":
        return messages
    return [_left_out(), *messages]


def _left_out() -> Message:
    return {"role": "user", "content": LEFT_OUT}
