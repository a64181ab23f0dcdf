"""How we measure: many times, in turn, and never one number alone."""

import os
import time
from collections.abc import Callable, Sequence
from statistics import median


def spread(seconds: Sequence[float], *, unit: float = 1_000.0) -> dict[str, float]:
    """Return the median, the 95th percentile and the worst, in milliseconds."""
    ordered = sorted(seconds)
    at = min(len(ordered) - 1, round(0.95 * len(ordered)))
    return {
        "n": len(ordered),
        "p50_ms": round(median(ordered) * unit, 2),
        "p95_ms": round(ordered[at] * unit, 2),
        "max_ms": round(ordered[-1] * unit, 2),
    }


def sized(whole: int, *, short: int) -> int:
    """Return how much a benchmark works on; with SHORT=1 it only shows that it still works."""
    return short if os.environ.get("SHORT") else whole


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median seconds of each, run A B A B so that both meet the same machine."""
    taken = [[timed(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken, strict=True)]
