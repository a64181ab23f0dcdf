"""Relevance: whether a memory is relevant enough to include; noise is worse than none.

A search ranks, but does not decide whether the best result is relevant. Words in every second
prompt of a developer have no weight, an identifier has a high one.
"""

import re
from typing import Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.terms import STOP, is_name, terms
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import one_line

LEAST: Final = 2.0
LEAST_SHARE: Final = 0.2
HALF: Final = 0.5
_NAMED: Final = 2.0
_NUMBERED: Final = re.compile(r"[^\W\d].*\d|\d.*[^\W\d]|\d{3}")
_EVERYDAY: Final = frozenset(terms(dict(read_table(__package__, "words.txt"))["everyday"]))
"""Words in every second prompt of a developer."""


def is_relevant(prompt: str, memory: Memory) -> bool:
    """Whether a memory contains enough of the significant terms of a prompt."""
    asked = _significant(prompt)
    held = frozenset(terms(_text_of(memory)))
    found = sum(weight for each, weight in asked.items() if each in held)
    return found >= LEAST and found >= LEAST_SHARE * sum(asked.values())


def shares_topic(prompt: str, memory: Memory) -> bool:
    """Whether half of the significant terms of the shorter of a prompt and a memory are in both.

    For the short sentences that users type: few of them have two significant words.
    """
    asked, held = _significant(prompt), _significant(_text_of(memory))
    found = sum(weight for each, weight in asked.items() if each in held)
    return found > 0 and found >= HALF * min(sum(asked.values()), sum(held.values()))


def _significant(text: str) -> dict[str, float]:
    """Return the significant terms of a text, with their weights."""
    return {each: _weight(each) for each in terms(text) if each not in STOP | _EVERYDAY}


def _text_of(memory: Memory) -> str:
    parts = (memory.title, memory.observation, memory.service, memory.topic_key, *memory.tags)
    return " ".join(filter(None, parts))


def _weight(term: str) -> float:
    return _NAMED if is_name(term) or _NUMBERED.search(term) else 1.0


_WORD: Final = re.compile(r"[\w-]+")
_SHORT: Final = 3
_EMPTY: Final = frozenset(
    (
        *("the", "and", "for", "with", "was", "were", "are", "has", "had", "not", "that", "this"),
        *("its", "from", "but", "when", "what", "how", "why"),
    )
)


def keywords(text: str) -> list[str]:
    """Return the distinct significant words of a text; the whole text if there are none."""
    text = one_line(text).casefold()
    found = dict.fromkeys(_WORD.findall(text))
    kept = [each for each in found if len(each) >= _SHORT and each not in _EMPTY]
    return kept or list(found) or [text]
