"""Measurement: many repetitions, in turn, and never a single number."""

import os
import time
from collections.abc import Callable, Sequence
from statistics import median


def spread(seconds: Sequence[float], *, unit: float = 1_000.0) -> dict[str, float]:
    """Return the median, the 95th percentile and the maximum, in milliseconds."""
    ordered = sorted(seconds)
    at = min(len(ordered) - 1, round(0.95 * len(ordered)))
    return {
        "n": len(ordered),
        "p50_ms": round(median(ordered) * unit, 2),
        "p95_ms": round(ordered[at] * unit, 2),
        "max_ms": round(ordered[-1] * unit, 2),
    }


def sized(whole: int, *, short: int) -> int:
    """Return the size of a benchmark; with SHORT=1 it only shows that the benchmark still works."""
    return short if os.environ.get("SHORT") else whole


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median seconds of each, run as A B A B under the same machine conditions."""
    taken = [[timed(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*taken, strict=True)]
