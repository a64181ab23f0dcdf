"""The digest of an interactive session: its task, files, decisions and open ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.clients.interactive_text import escape_line, json_length
from lamplighter.domain.sessions.context import CHARS_PER_TOKEN
from lamplighter.domain.text import shorten

MAX_DIGESTS: Final = 3
DIGEST_CHARS: Final = 800
"""The maximum number of characters of one digest: 200 tokens."""

BUDGET_SHARE: Final = 4
"""The digests take at most a quarter of the budget of the context."""

TASK_CHARS: Final = 200
ITEM_CHARS: Final = 120
MAX_FILES: Final = 8
MAX_ITEMS: Final = 4
HEADING: Final = "### Last sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDigest:
    """The content of a session; `current` marks the session that reads it after a compaction."""

    session_id: int
    started_at: datetime
    task: str
    files: Sequence[str] = ()
    decisions: Sequence[str] = ()
    open_ends: Sequence[str] = ()
    current: bool = False

    @property
    def empty(self) -> bool:
        """Whether the digest has no content."""
        return not (self.task or self.files or self.decisions or self.open_ends)


def open_question(response: str) -> str:
    """Return the question at the end of an answer; empty if there is none."""
    last = response.rstrip().rpartition("\n")[2].strip()
    return last if last.endswith("?") else ""


def render_digest(digest: SessionDigest, room: int = DIGEST_CHARS) -> str:
    """Return a digest on one line of at most `room` characters, with markers escaped."""
    number = "this session" if digest.current else f"session {digest.session_id}"
    parts = [
        _sentence("Task", _quote(digest.task, TASK_CHARS)),
        _sentence("Files", _listed(digest.files, MAX_FILES, ", ")),
        _sentence("Decisions", _listed(digest.decisions, MAX_ITEMS, "; ")),
        _sentence("Open", _listed(digest.open_ends, MAX_ITEMS, "; ")),
    ]
    words = " ".join(filter(None, parts))
    line = f"- [{digest.started_at:%Y-%m-%d}, {number}] {words}"
    while json_length(line) > room and len(line) > 1:
        line = shorten(line, max(1, len(line) - max(1, json_length(line) - room)))
    return line


def render_digests(digests: Sequence[SessionDigest], budget: int) -> str:
    """Return the section of the last sessions for a budget in tokens; empty if there are none."""
    recent = [each for each in digests if not each.empty][:MAX_DIGESTS]
    room = budget * CHARS_PER_TOKEN // BUDGET_SHARE - len(HEADING) - 1
    lines: list[str] = []
    for each in recent:
        line = render_digest(each)
        if json_length(f"{line}\n") > room:
            break
        room -= json_length(f"{line}\n")
        lines.append(line)
    return "\n".join((HEADING, *lines)) if lines else ""


def _sentence(name: str, words: str) -> str:
    if not words:
        return ""
    return f"{name}: {words}" if words.endswith((".", "!", "?", "…")) else f"{name}: {words}."


def _listed(items: Sequence[str], most: int, between: str) -> str:
    more = [f"{len(items) - most:,} more"] if len(items) > most else []
    return between.join([*(_quote(each, ITEM_CHARS) for each in items[:most]), *more])


def _quote(text: str, chars: int) -> str:
    return shorten(escape_line(text), chars)
