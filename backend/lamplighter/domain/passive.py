"""What an agent says it learned, by the way: the list under `## Key Learnings` of its report."""

import re
import unicodedata
from typing import Final

LEAST_CHARS: Final = 20
LEAST_WORDS: Final = 4
TITLE_CHARS: Final = 60

_HEADING: Final = re.compile(
    r"^#{2,3}[ \t]+(?:aprendizajes(?:[ \t]+clave)?|key[ \t]+learnings?|learnings?)[ \t]*:?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT: Final = re.compile(r"^#{1,3} ", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^[ \t]*\d+[.)][ \t]+(\S.*)$", re.MULTILINE)
_BULLET: Final = re.compile(r"^[ \t]*[-*+][ \t]+(\S.*)$", re.MULTILINE)
_EMPHASIS: Final = (
    re.compile(r"\*\*([^*\n]+)\*\*"),
    re.compile(r"`([^`\n]+)`"),
    re.compile(r"(?<!\w)\*(\S|\S[^*\n]*\S)\*(?!\w)"),
)


def learnings(text: str) -> list[str]:
    """Return the items of the last section of learnings that has any: numbered ones, else bullets.

    What has fewer than 20 characters or four words says too little to be kept.
    """
    text = text.replace("\r\n", "\n")
    for heading in reversed(list(_HEADING.finditer(text))):
        rest = text[heading.end() :]
        ends = _NEXT.search(rest)
        section = rest[: ends.start()] if ends else rest
        for form in (_NUMBERED, _BULLET):
            found = [each for each in map(_plain, form.findall(section)) if _says_enough(each)]
            if found:
                return found
    return []


def titled(learning: str) -> str:
    """Return what a learning is called: its beginning, cut between two words."""
    if len(learning) <= TITLE_CHARS:
        return learning
    cut, _, _ = learning[:TITLE_CHARS].rpartition(" ")
    return f"{cut or learning[: TITLE_CHARS - 1]}…"


def _plain(item: str) -> str:
    for marks in _EMPHASIS:
        item = marks.sub(r"\1", item)
    return " ".join(item.split())


def _says_enough(item: str) -> bool:
    spaced = not any(unicodedata.category(char) == "Lo" for char in item)
    return len(item) >= LEAST_CHARS and (not spaced or len(item.split()) >= LEAST_WORDS)
