"""Names of entities: their comparison, and their abbreviations."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

MAX_NAME_CHARS: Final = 200
FOLDED_NAMES: Final = 4_096
"""The number of cached folded names: one text contains the same names several times."""

_SIGNS: Final = frozenset(".+#")
_KEPT_SIGN: Final = re.compile(r"(?<=\d)[.](?=\d)|(?<=[^\W_])[+#]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@lru_cache(FOLDED_NAMES)
def fold_name(name: str) -> str:
    """Return a name folded for comparison, at most 200 characters; empty for no name.

    Ignores case, spaces, punctuation and accents: `Claude Code`, `claude-code` and `ClaudeCode` are
    one name. A dot between digits counts (`7.2` is not `72`), like the signs of `C++` and `C#`.
    Folding a folded name changes nothing.
    """
    if name.isascii() and not _SIGNS.intersection(lower := name.lower()):
        return "".join(filter(str.isalnum, lower))[:MAX_NAME_CHARS]
    folded = _fold_once(name)
    while (again := _fold_once(folded)) != folded:  # a removed sign may let its neighbors compose
        folded = again
    return folded


def _fold_once(name: str) -> str:
    text = _decompose(_decompose(name).casefold())
    if text.isalnum():
        return text[:MAX_NAME_CHARS]
    kept = {at for sign in _KEPT_SIGN.finditer(text) for at in range(*sign.span())}
    signs = (each for at, each in enumerate(text) if each.isalnum() or at in kept)
    return "".join(signs)[:MAX_NAME_CHARS]


def initials(name: str) -> str:
    """Return the first letters of the parts of a name, folded: `cc` of `Claude Code`."""
    return "".join(part[0] for part in name_parts(name))


def name_parts(name: str) -> list[str]:
    """Return the words of a name, folded; camel case is split too."""
    return [part.casefold() for part in _PARTS.findall(_decompose(name))]


def abbreviates(short: str, name: str) -> bool:
    """Whether a short form is the initials of a name of two words or more."""
    letters = fold_name(short)
    return len(letters) > 1 and letters == initials(name) and letters != fold_name(name)


def _decompose(text: str) -> str:
    """Return a text in compatible forms, without accents."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFKC", "".join(c for c in parts if not unicodedata.combining(c)))
