"""Metrics of this process: collecting them needs no library, only exporting them does.

Every name follows the Prometheus conventions and is described in docs/reference/observability.md.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Final

MOST_SERIES: Final = 1_000
OTHER: Final = "other"
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[str, ...]


@dataclass(slots=True)
class Counter:
    """The number of occurrences, by labels; series beyond the limit are counted as other."""

    name: str
    about: str
    labels: Labels = ()
    series: dict[Labels, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def add(self, *values: str, by: float = 1.0) -> None:
        """Increase the count."""
        with self._lock:
            where = _limit_series(self.series, values)
            self.series[where] = self.series.get(where, 0.0) + by


@dataclass(slots=True)
class DurationCounts:
    """The number of durations by size: `counts` has an item per bound."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    total: float = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Return the number of durations up to each bound."""
        bounds = [*map(str, SECONDS), "+Inf"]
        return [(bound, float(sum(self.counts[: at + 1]))) for at, bound in enumerate(bounds)]


@dataclass(slots=True)
class Histogram:
    """Durations, by labels."""

    name: str
    about: str
    labels: Labels = ()
    series: dict[Labels, DurationCounts] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def took(self, seconds: float, *values: str) -> None:
        """Record a duration."""
        with self._lock:
            times = self.series.setdefault(_limit_series(self.series, values), DurationCounts())
            times.counts[bisect_left(SECONDS, seconds)] += 1
            times.total += seconds

    @contextmanager
    def timed(self, *values: str) -> Iterator[None]:
        """Record the duration of the context."""
        began = perf_counter()
        try:
            yield
        finally:
            self.took(perf_counter() - began, *values)


REQUESTS: Final = Counter(
    "lamplighter_http_requests",
    "Requests answered by the web process.",
    ("method", "route", "status"),
)
REQUEST_SECONDS: Final = Histogram(
    "lamplighter_http_request_duration_seconds",
    "Response time.",
    ("method", "route"),
)
SEARCHES: Final = Counter(
    "lamplighter_searches",
    "Searches in this process, by outcome (whole, or partial after a timeout).",
    ("outcome",),
)
SEARCH_SECONDS: Final = Histogram(
    "lamplighter_search_duration_seconds", "Search time in this process."
)
INJECTIONS: Final = Counter(
    "lamplighter_injections",
    "Contexts that this process sent to clients, by profile.",
    ("profile",),
)
INJECTED: Final = Counter(
    "lamplighter_injected_memories",
    "Memories in the contexts that this process sent to clients.",
    ("profile",),
)
SAVES: Final = Counter(
    "lamplighter_saves",
    "Knowledge saved by this process: created, updated, deduplicated or refused.",
    ("outcome",),
)
REMOTE: Final = Counter(
    "lamplighter_remote_requests",
    "Requests to remote memory services, by outcome (well or failed).",
    ("outcome",),
)
COUNTERS: Final = (REQUESTS, SEARCHES, INJECTIONS, INJECTED, SAVES, REMOTE)
HISTOGRAMS: Final = (REQUEST_SECONDS, SEARCH_SECONDS)


def _limit_series(series: Mapping[Labels, object], values: Labels) -> Labels:
    if values in series or len(series) < MOST_SERIES:
        return values
    return tuple(OTHER for _ in values)
