"""How long a service takes to be healthy: what memory says, and what was measured. Pure."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from lamplighter.domain.cooldown import Use
from lamplighter.domain.memory import Category
from lamplighter.domain.service import ActionKind, Service
from lamplighter.engines.probe.facts import Facts, Held

UNKNOWN_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 600.0
LEAST_SECONDS: Final = 5.0
PATIENCE: Final = 2.0
TIMES: Final = 3
"""From the third measurement on it is something to remember."""

_DURATION: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b",
    re.IGNORECASE,
)
_STARTING: Final = re.compile(
    r"\b(?:re-?start\w*|start\w*|redeploy\w*|deploy\w*|boot\w*|healthy|ready|up)\b", re.IGNORECASE
)
_UNITS: Final = {"ms": 0.001, "mi": 60.0, "s": 1.0, "m": 60.0, "h": 3600.0}
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


def patience(known: Claim | None) -> float:
    """Return for how many seconds a service may take to be healthy before it counts as failed."""
    if known is None:
        return UNKNOWN_SECONDS
    return min(LONGEST_SECONDS, max(LEAST_SECONDS, known.seconds * PATIENCE))


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
    return f"Takes about {_rounded(median(measured[:TIMES]))} to be healthy after a {kind}"


def agrees(seconds: float, claimed: float) -> bool:
    """Whether a measured time bears out a claimed one; a second more or less is nothing."""
    return claimed * 0.5 - 1 <= seconds <= claimed * 1.25 + 1


def beside(seconds: float, known: Claim) -> str:
    """Say how a measured time stands to what memory says."""
    how = "as remembered" if agrees(seconds, known.seconds) else "not as remembered"
    return f"{how} (memory {known.held.id} says {known.seconds:g} s)"


def _seconds(observation: str) -> list[float]:
    found = []
    for number, unit in _DURATION.findall(observation):
        short = unit.lower()
        key = short[:2] if short[:2] in ("ms", "mi") else short[0]
        if short.startswith("milli"):
            key = "ms"
        seconds = float(number) * _UNITS[key]
        if 0 < seconds <= LONGEST_SECONDS * 6:
            found.append(seconds)
    return found[:1]


def _rounded(seconds: float) -> str:
    """Return a time rounded up to a number that one says."""
    step = _STEPS[min(bisect_left(_STEPS, seconds), len(_STEPS) - 1)]
    return f"{step} s" if step < 120 else f"{step / 60:g} min"
