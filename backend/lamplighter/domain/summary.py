"""The summary of a client's session: made of its transcript, by no model (agentops-memory)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.text import one_line

USER: Final = "user"
COUNTED: Final = (USER, "assistant")
QUOTED_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript."""

    role: str
    content: str


def summary_of(messages: Sequence[Message], clean: Callable[[str], str] = str) -> str:
    """Say how many messages a session had, how it began and how it ended; empty for none.

    Messages of the user and of the assistant count; the first and the last of the user
    are quoted, 200 characters of each, after `clean` took out what nobody may read.
    """
    count = counted(messages)
    if not count:
        return ""
    words = f"Session with {count} message{'s' if count != 1 else ''}."
    asked = [each.content for each in messages if _role(each) == USER and one_line(each.content)]
    if not asked:
        return words
    first, last = (one_line(clean(each))[:QUOTED_CHARS] for each in (asked[0], asked[-1]))
    return f'{words} Started: "{first}" — Ended: "{last}"'


def counted(messages: Sequence[Message]) -> int:
    """Return how many messages the user and the assistant wrote."""
    return sum(_role(each) in COUNTED for each in messages)


def _role(message: Message) -> str:
    return message.role.strip().lower()
