"""Topic keys as we would choose them: `bug/fix-nil-panic`, out of a type, a title and a text."""

import re
import unicodedata
from typing import Final

from lamplighter.domain.text import REDACTED, without_private

TITLE_WORDS: Final = 8
"""How many words of a text stand for a title that says nothing."""

SEGMENT_CHARS: Final = 100
FAMILY_CHARS: Final = 19
GENERAL: Final = "general"
TOPIC: Final = "topic"
MANUAL: Final = "manual"

FAMILIES: Final = {
    "architecture": ("architecture", "design", "adr", "refactor"),
    "bug": ("bug", "bugfix", "fix", "incident", "hotfix"),
    "decision": ("decision",),
    "pattern": ("pattern", "convention", "guideline"),
    "config": ("config", "setup", "infra", "infrastructure", "ci"),
    "discovery": ("discovery", "investigation", "root_cause", "root-cause"),
    "learning": ("learning", "learn"),
    "preference": ("preference",),
    "session": ("session_summary",),
}
SIGNS: Final = {
    "bug": "bug|fix|panic|error|crash|regression|incident|hotfix",
    "architecture": "architecture|design|adr|boundary|hexagonal|refactor",
    "decision": "decision|tradeoff|chose|choose|decide",
    "pattern": "pattern|convention|naming|guideline",
    "config": "config|configuration|setup|environment|env|docker|pipeline",
    "discovery": "discovery|investigate|investigation|found|root cause",
    "learning": "learned|learning",
}
_OF_TYPE: Final = {word: family for family, words in FAMILIES.items() for word in words}
_SIGNS: Final = {
    family: re.compile(rf"\b(?:{words})(?:s|es|d|ed|ing|ies)?\b") for family, words in SIGNS.items()
}
_BETWEEN: Final = re.compile(r"[\W_]+")


def topic_key(kind: str, title: str, content: str) -> str:
    """Suggest a topic key: the same for what is about the same, whoever asks.

    The family comes from the type, else from what the words are about; the rest is the
    title, or the first eight words of the content where the title says nothing.
    """
    title, content = _plain(title), _plain(content)
    family = _family(kind, f"{title} {content}")
    said = _segment(title) or _segment(" ".join(content.split()[:TITLE_WORDS]))
    said = said.removeprefix(f"{family}-")
    return f"{family}/{GENERAL if said in ('', family) else said}"


def _plain(text: str) -> str:
    shown = without_private(text).replace(REDACTED, " ")
    return unicodedata.normalize("NFKC", shown).lower()


def _family(kind: str, text: str) -> str:
    kind = kind.strip().lower()
    if kind in _OF_TYPE:
        return _OF_TYPE[kind]
    for family, signs in _SIGNS.items():
        if signs.search(text):
            return family
    own = "" if kind == MANUAL else _segment(kind)[:FAMILY_CHARS].strip("-")
    return own or TOPIC


def _segment(text: str) -> str:
    """Return the words of a text with - between them, cut between two of them."""
    whole = _BETWEEN.sub("-", text).strip("-")
    if len(whole) <= SEGMENT_CHARS:
        return whole
    cut, _, _ = whole[: SEGMENT_CHARS + 1].rpartition("-")
    return cut or whole[:SEGMENT_CHARS]
