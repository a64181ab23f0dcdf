"""Summaries of sessions: composed from requests and replies, without a model (agentops-memory)."""

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
    """Summarize a session: the number of messages, the first and the last one; empty for none.

    Messages of the user and of the assistant count; the first and the last of the user are quoted,
    up to 200 characters each, after `clean` removed text that must stay secret.
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
    """Return a summary in which `by` replaces the quote of a user's message."""
    old, new = (one_line(each)[:QUOTED_CHARS] for each in (text, by))
    return summary.replace(f'"{old}"', f'"{new}"')


def withdrawn_quote(prompt_id: int) -> str:
    """Return the replacement for the quote of a withdrawn prompt."""
    return f"[prompt {prompt_id}, withdrawn]"


def summarize_session(
    session: Session, texts: Sequence[str], uses: Mapping[str, int], status: Status, reason: str
) -> str:
    """Summarize one of Lamplighter's own sessions: the request, the outcome and the open points.

    `texts` are the assistant's texts in order, `uses` the number of uses by tool. Marker lines are
    omitted; a session without text lists its tools and its end.
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
    """Return a text without its lines that contain markers."""
    return "\n".join(line for line in text.splitlines() if not ends_in_marker(line))


def quote_line(text: str) -> str:
    """Return the beginning of a text in one line."""
    return shorten(one_line(text), QUOTED_CHARS)


def count_messages(messages: Sequence[Message]) -> int:
    """Return the number of messages of the user and the assistant."""
    return sum(_role(each) in COUNTED for each in messages)


def _role(message: Message) -> str:
    return message.role.strip().lower()
