"""The texts of an interactive session's transcript, which its hook sends."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.text import comparison_key, content_hash, shorten

USER: Final = "user"
ASSISTANT: Final = "assistant"
SYNTHETIC: Final = "<synthetic>"
"""The model name of messages that Claude Code itself writes."""

INSERTED: Final = ("isMeta", "isSidechain", "isCompactSummary")
"""The marks of lines that Claude Code inserts; the summary at a compaction quotes tools."""

MESSAGE_CHARS: Final = 10_000
MAX_MESSAGES: Final = 1_000
KEY_CHARS: Final = 100


def repeats_prompt(text: str, prompt: str) -> bool:
    """Return whether a message of a transcript is a prompt that the hook has sent too."""
    return comparison_key(text) == comparison_key(shorten(prompt, MESSAGE_CHARS))


def blank_key(prompt: str) -> str:
    """Return the key of the message that replaces a permanently deleted prompt."""
    return f"deleted:{content_hash(comparison_key(shorten(prompt, MESSAGE_CHARS)))}"


def read_messages(
    lines: Iterable[Any], *, start: datetime | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield the key, role and text of each line that the user or the model wrote.

    Skips tools, thinking, subagents, lines that Claude Code inserts, and lines from before `start`:
    a session sends the same lines repeatedly.
    """
    for line in lines:
        if not isinstance(line, dict) or any(map(line.get, INSERTED)):
            continue
        role, key, message = line.get("type"), line.get("uuid"), line.get("message")
        if role not in (USER, ASSISTANT) or not isinstance(key, str) or not key:
            continue
        if start is not None and _is_before(line.get("timestamp"), start):
            continue
        if isinstance(message, dict) and (text := _text(message)):
            yield key[:KEY_CHARS], role, text


def _is_before(written: Any, start: datetime) -> bool:
    """Whether a line was written before a moment; False for a line without a time."""
    try:
        at = datetime.fromisoformat(written)
    except (TypeError, ValueError):
        return False
    return at.tzinfo is not None and at < start


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    if message.get("model") == SYNTHETIC or not all(isinstance(each, dict) for each in blocks):
        return ""
    if any(each.get("type") != "text" for each in blocks):
        return ""
    texts = [str(each.get("text") or "") for each in blocks]
    # commands and their output are enclosed in tags
    return "\n".join(each for each in texts if not each.lstrip().startswith("<")).strip()
