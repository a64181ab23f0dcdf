"""Packing: the share of each text in a budget, and the origin of a line."""

from collections.abc import Sequence
from typing import Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.ranking import utterance_date, utterance_speaker

LEAST_CHARS: Final = 240
"""A shorter passage has too little content: fewer memories are better."""


def allocate_chars(sizes: Sequence[int], room: int, least: int = LEAST_CHARS) -> list[int]:
    """Return the number of characters for each text, best first: all of it while there is room.

    Otherwise the long ones share the rest that the short ones leave, and the last get nothing.
    """
    many = len(sizes)
    while many and sum(min(size, least) for size in sizes[:many]) > room:
        many -= 1
    got = [0] * len(sizes)
    for count, at in enumerate(sorted(range(many), key=lambda at: sizes[at])):
        got[at] = min(sizes[at], room // (many - count))
        room -= got[at]
    return got


def origin(memory: Memory, session: str = "") -> str:
    """Return the day of a memory and its speaker, else its session, if known."""
    spoken = utterance_speaker(memory)
    beginning = memory.observation.lstrip(" [(>*_-").startswith(spoken) if spoken else True
    who = spoken if spoken and not beginning else f"session {session}" if session else ""
    day = f"{utterance_date(memory) or memory.updated_at:%Y-%m-%d}"
    return ", ".join(filter(None, (day, who)))
