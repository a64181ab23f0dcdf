"""The summary of a client's session: made of its transcript, by no model (agentops-memory)."""

from collections.abc import Sequence
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


def summary_of(messages: Sequence[Message]) -> str:
    """Say how many messages a session had, how it began and how it ended; empty for none.

    Messages of the user and of the assistant count; the first and the last of the user
    are quoted, 200 characters of each.
    """
    counted = [each for each in messages if each.role.strip().lower() in COUNTED]
    if not counted:
        return ""
    words = f"Session with {len(counted)} message{'s' if len(counted) != 1 else ''}."
    asked = [each.content for each in counted if each.role.strip().lower() == USER]
    said = [line for line in map(one_line, asked) if line]
    if not said:
        return words
    first, last = (line[:QUOTED_CHARS] for line in (said[0], said[-1]))
    return f'{words} Started: "{first}" — Ended: "{last}"'
