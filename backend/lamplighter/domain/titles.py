"""Titles: what a memory is called, and what it is called where nobody gave it a title."""

from typing import Final

from lamplighter.domain.memory import Memory
from lamplighter.domain.passive import titled
from lamplighter.domain.text import one_line, shortened

TITLE_CHARS: Final = 80


def title_of(memory: Memory) -> str:
    """Return the title of a memory, else its first line."""
    lines = (one_line(line).lstrip("#*- ") for line in memory.observation.splitlines())
    return memory.title or shortened(next(filter(None, lines), ""), TITLE_CHARS)


def own_title(memory: Memory) -> str:
    """Return the title that somebody gave; empty for one that was made of the text."""
    return "" if memory.title == titled(memory.observation) else memory.title
