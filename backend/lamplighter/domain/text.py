"""Text for storage: one line, visible characters only, and comparison of texts."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_PRIVATE: Final = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)
_DASHES: Final = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’‚", "'")
)
PROJECT_CHARS: Final = 200
REDACTED: Final = "[REDACTED]"
MARKER_START: Final = re.compile(r"\[(MEMORY|EVENT|COOLDOWN|ESCALATE):")
"""The beginning of a marker in a session's output."""


def format_time(at: datetime, now: datetime, *, seconds: bool = False) -> str:
    """Return a moment as text: the time, and the date if it is not today."""
    day = "" if at.date() == now.date() else f"{at:%d %b} "
    return f"{day}{at:%H:%M:%S} UTC" if seconds else f"{day}{at:%H:%M} UTC"


def format_exact(at: datetime) -> str:
    """Write an aware moment as `YYYY-MM-DDTHH:MM:SS.ffffffZ`: text that sorts by time."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def one_line(text: str) -> str:
    """Collapse white space and drop control, bidi and surrogate characters.

    An observation of several lines could forge a heading in the prompt that includes it; a bidi
    override could show an operator other text than is stored.
    """
    return " ".join(_drop_invisible(text).split())


HALF_CHARACTER: Final = "contains half of a surrogate pair, which is not a character"


def is_utf8(text: str) -> bool:
    """Whether a text can be stored: one with bytes that are not UTF-8 has lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_lines(text: str) -> str:
    """Drop invisible characters, but not line breaks: knowledge may be a page long."""
    lines = (_drop_invisible(line).rstrip() for line in text.splitlines())
    return "\n".join(lines).strip()


def without_private(text: str) -> str:
    """Replace each `<private>…</private>` by `[REDACTED]`; an unclosed one hides the rest."""
    return _PRIVATE.sub(REDACTED, text)


def content_hash(text: str) -> str:
    """Return the SHA-256 of the lower-cased text with its white space collapsed."""
    return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()


@lru_cache(maxsize=10_000)
def comparison_key(text: str) -> str:
    """Return a key that is equal for observations with the same text.

    Ignores case, white space, the shape of quotes and dashes and a final period.
    """
    return one_line(text).casefold().translate(_DASHES).rstrip(".! ")


def shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, with an ellipsis as the last one."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def abridge(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters by cutting its middle."""
    half = (limit - 3) // 2
    return text if len(text) <= limit else f"{text[:half]} … {text[-half:]}"


def head_and_tail(lines: Sequence[str], limit: int) -> list[str]:
    """Return the first and the last lines, of about `limit` characters in all.

    Lines are not split if they fit: a secret that is cut in two is not masked.
    """
    half = limit // 2
    if sum(map(len, lines)) <= limit:
        return list(lines)
    head = _fit_lines(lines, half)
    tail = _fit_lines(lines[: len(head) - 1 : -1], half)[::-1]
    left_out = len(lines) - len(head) - len(tail)
    lines_left_out = "1 line" if left_out == 1 else f"{left_out:,} lines"
    between = [f"… {lines_left_out} left out …"] if left_out else []
    return [*head, *between, *tail]


def _fit_lines(lines: Sequence[str], limit: int) -> list[str]:
    """Return the first lines that fit; always the very first one, abridged if necessary."""
    fitting = [abridge(line, limit) for line in lines[:1]]
    left = limit - sum(map(len, fitting))
    for line in lines[1:]:
        left -= len(line)
        if left < 0:
            break
        fitting.append(line)
    return fitting


def _drop_invisible(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if char.isspace() else char for char in text if _is_visible(char))


def _is_visible(char: str) -> bool:
    if char.isspace():
        return True
    # Cc control, Cf format (bidi, zero width), Cs lone surrogate, Co/Cn private and unassigned
    category = unicodedata.category(char)
    return category not in {"Cc", "Cs", "Co", "Cn"} and (category != "Cf" or char in "\u200c\u200d")


def escape_terminal(text: str) -> str:
    """Return a text without control characters that a terminal would execute: they are escaped."""
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def join_names(names: Iterable[str]) -> str:
    """Return some names as an English list."""
    once = list(dict.fromkeys(names))
    if len(once) < 2:
        return "".join(once)
    return f"{', '.join(once[:-1])} and {once[-1]}"


def name_subject(name: str, text: str) -> str:
    """Return a text about something, with its name first unless the text contains it."""
    pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    return text if re.search(pattern, text, re.IGNORECASE) else f"{name}: {text}"


def escape_markers(text: str) -> str:
    """Return text that can be quoted without being parsed as a marker."""
    # to replace takes ten times as long as to search, even without a marker
    return MARKER_START.sub(r"[ \1:", text) if MARKER_START.search(text) else text


def normalize_project(name: str) -> str:
    """Return the name of a project normalized for storage and comparison: lower case."""
    return " ".join(name.split()).lower()
