"""Confidences after a sequence of steps; tests/spec has SPEC-0015's numbers."""

from typing import Final

from lamplighter.domain.memory.decay import WEEKLY_DECAY
from lamplighter.domain.memory.memory import (
    CONTRADICTION,
    INITIAL_CONFIDENCE,
    REINFORCEMENT,
    clamp,
)

UP: Final = REINFORCEMENT
DOWN: Final = -CONTRADICTION
WEEK: Final = -WEEKLY_DECAY


def after(*steps: float, of: float = INITIAL_CONFIDENCE) -> float:
    """Return the confidence after several steps, in order."""
    for step in steps:
        of = clamp(of + step)
    return of


LEARNED: Final = after()
REINFORCED: Final = after(UP)
CONTRADICTED: Final = after(DOWN)
