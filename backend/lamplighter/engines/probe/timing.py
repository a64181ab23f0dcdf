"""How long a service takes to be healthy: what memory says, and what was measured. Pure."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from lamplighter.domain.cooldown import Use
from lamplighter.domain.frames import HEALTHY_AFTER
from lamplighter.domain.memory import Category
from lamplighter.domain.service import Action, ActionKind, Service
from lamplighter.engines.probe.facts import Facts, Held

LONGEST_SECONDS: Final = 360.0
LONGEST_CLAIM: Final = 3_600.0
PATIENCE: Final = 2.0
TIMES: Final = 3
"""From the third measurement on it is something to remember."""

_UNIT: Final = r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b"
_NUMBER: Final = r"(\d[\d,]*(?:\.\d+)?)"
# the time that something takes, not just any that is spoken of
_DURATION: Final = re.compile(
    r"\b(?:takes?|took|needs?|requires?"
    r"|(?:starts?|boots?|up|ready|healthy)(?: up)? (?:in|within|after))"
    r"\s+(?:(?:about|around|roughly|some|up to|at least|at most|almost|nearly|over|ca\.?|~)\s*)*"
    rf"{_NUMBER}\s*{_UNIT}(?:\s*(?:and\s+)?{_NUMBER}\s*{_UNIT})?",
    re.IGNORECASE,
)
_STARTING: Final = re.compile(
    r"\b(?:re-?start\w*|start\w*|redeploy\w*|deploy\w*|boot\w*|healthy|ready|up)\b", re.IGNORECASE
)
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_STEPS: Final = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 90),
    *(120, 150, 180, 240, 300, 360, 420, 480, 540, 600),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a memory says: so many seconds."""

    seconds: float
    held: Held


def claim(service: Service, facts: Facts) -> Claim | None:
    """Return what memory says of how long a service takes to start; the surest wins."""
    found = [
        Claim(seconds, held)
        for held in facts.told_of(service)
        if held.category == Category.TIMING and _STARTING.search(held.observation)
        for seconds in _seconds(held.observation)
    ]
    return max(found, key=lambda each: (each.held.confidence, each.held.updated_at), default=None)


def patience(known: Claim | None, action: Action) -> float:
    """Return for how many seconds a service may take to be healthy before it counts as failed.

    What memory says makes the wait longer, never shorter than the action's own:
    a wrong memory must not lead to the next, heavier action.
    """
    remembered = known.seconds * PATIENCE if known else 0.0
    return max(action.wait, min(LONGEST_SECONDS, remembered))


def learned(
    seconds: float, kind: ActionKind, uses: Sequence[Use], known: Claim | None
) -> str | None:
    """Return what to remember after a service took `seconds`; None when there is nothing yet.

    `uses` are the earlier ones, newest first. What memory says already is said
    again in its own words while it is true.
    """
    if known is not None and agrees(seconds, known.seconds):
        return known.held.observation
    measured = [seconds] + [
        use.healthy_after for use in uses if use.action is kind and use.healthy_after is not None
    ]
    if len(measured) < TIMES:
        return None
    return HEALTHY_AFTER.text(time=_rounded(median(measured[:TIMES])), action=kind)


def agrees(seconds: float, claimed: float) -> bool:
    """Whether a measured time bears out a claimed one; a second more or less is nothing."""
    return claimed * 0.5 - 1 <= seconds <= claimed * 1.25 + 1


def beside(seconds: float, known: Claim) -> str:
    """Say how a measured time stands to what memory says."""
    how = "as remembered" if agrees(seconds, known.seconds) else "not as remembered"
    return f"{how} (memory {known.held.id} says {known.seconds:g} s)"


def _seconds(observation: str) -> list[float]:
    told = _DURATION.search(observation)
    if told is None:
        return []
    number, unit, more, smaller = told.groups()
    seconds = _in_seconds(number, unit) + (_in_seconds(more, smaller) if more else 0.0)
    return [seconds] if 0 < seconds <= LONGEST_CLAIM else []


def _in_seconds(number: str, unit: str) -> float:
    short = unit.lower()
    if short.startswith(("ms", "milli")):
        return float(number.replace(",", "")) * 0.001
    return float(number.replace(",", "")) * _UNITS[short[0]]


def _rounded(seconds: float) -> str:
    """Return a time rounded up to a number that one says."""
    step = _STEPS[min(bisect_left(_STEPS, seconds), len(_STEPS) - 1)]
    return f"{step} s" if step < 120 else f"{step / 60:g} min"
