"""Packing: how much of each text a budget has room for, and what a line says of its origin."""

from collections.abc import Sequence
from typing import Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.search.ranking import utterance_date, utterance_speaker

LEAST_CHARS: Final = 240
"""A passage shorter than that says too little: rather fewer memories."""


def allocate_chars(sizes: Sequence[int], room: int, least: int = LEAST_CHARS) -> list[int]:
    """Return how many characters each text gets, best first: all it needs while there is room.

    Where there is not, the long ones share what the short ones leave, and the last get nothing.
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
    """Return the day of a memory and who said it, else in which session, where that is known."""
    spoken = utterance_speaker(memory)
    beginning = memory.observation.lstrip(" [(>*_-").startswith(spoken) if spoken else True
    who = spoken if spoken and not beginning else f"session {session}" if session else ""
    day = f"{utterance_date(memory) or memory.updated_at:%Y-%m-%d}"
    return ", ".join(filter(None, (day, who)))
