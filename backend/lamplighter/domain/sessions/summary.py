"""Summaries of sessions: made of what was asked and said, by no model (agentops-memory)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.sessions.markers import ends_in_marker
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.text import REDACTED, one_line, shorten

USER: Final = "user"
COUNTED: Final = (USER, "assistant")
QUOTED_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript."""

    role: str
    content: str


def summarize_messages(messages: Sequence[Message], clean: Callable[[str], str] = str) -> str:
    """Say how many messages a session had, how it began and how it ended; empty for none.

    Messages of the user and of the assistant count; the first and the last of the user
    are quoted, 200 characters of each, after `clean` took out what nobody may read.
    """
    count = count_messages(messages)
    if not count:
        return ""
    words = f"Session with {count} message{'s' if count != 1 else ''}."
    asked = [each.content for each in messages if _role(each) == USER and one_line(each.content)]
    if not asked:
        return words
    first, last = (one_line(clean(each))[:QUOTED_CHARS] for each in (asked[0], asked[-1]))
    return f'{words} Started: "{first}" — Ended: "{last}"'


def replace_quote(summary: str, text: str, by: str = REDACTED) -> str:
    """Return a summary that quotes `by` in the place of a message of the user."""
    old, new = (one_line(each)[:QUOTED_CHARS] for each in (text, by))
    return summary.replace(f'"{old}"', f'"{new}"')


def withdrawn_quote(prompt_id: int) -> str:
    """Return what a summary quotes in the place of a withdrawn prompt."""
    return f"[prompt {prompt_id}, withdrawn]"


def summarize_session(
    session: Session, texts: Sequence[str], uses: Mapping[str, int], status: Status, reason: str
) -> str:
    """Say what one of our own sessions was asked, what came of it and what is open.

    `texts` are the assistant's words in order, `uses` how often each tool was used. Marker
    lines are left out; a session without words tells its tools and how it ended.
    """
    task = quote_line(session.prompt) or f"tier {session.tier}, {session.trigger}"
    answer = next(filter(None, map(quote_line, map(strip_markers, reversed(texts)))), "")
    messages = f"{len(texts)} message{'' if len(texts) == 1 else 's'}"
    summary = f'Session with {messages}. Started: "{task}"'
    summary += f' — Ended: "{answer}"' if answer and answer != task else ""
    done = status is Status.COMPLETED
    if uses and not (done and answer):
        summary += f" — Tools: {', '.join(f'{name} {count}' for name, count in uses.items())}"
    if not (done and answer):
        summary += f" — {str(status).replace('_', ' ').capitalize()}"
        summary += f": {quote_line(reason)}" if reason else ""
    return summary


def strip_markers(text: str) -> str:
    """Return a text without its lines that hold markers."""
    return "\n".join(line for line in text.splitlines() if not ends_in_marker(line))


def quote_line(text: str) -> str:
    """Return the beginning of a text in one line."""
    return shorten(one_line(text), QUOTED_CHARS)


def count_messages(messages: Sequence[Message]) -> int:
    """Return how many messages the user and the assistant wrote."""
    return sum(_role(each) in COUNTED for each in messages)


def _role(message: Message) -> str:
    return message.role.strip().lower()
