"""The words of a text that say something, as they are written."""

import re
from typing import Final

from lamplighter.domain.text import one_line

_WORD: Final = re.compile(r"[\w-]+")
_SHORT: Final = 3
_EMPTY: Final = frozenset(
    (
        *("the", "and", "for", "with", "was", "were", "are", "has", "had", "not", "that", "this"),
        *("its", "from", "but", "when", "what", "how", "why"),
    )
)


def keywords(text: str) -> list[str]:
    """Return the words that say something, each once; of a text that has none, the whole."""
    text = one_line(text).casefold()
    found = dict.fromkeys(_WORD.findall(text))
    kept = [each for each in found if len(each) >= _SHORT and each not in _EMPTY]
    return kept or list(found) or [text]
