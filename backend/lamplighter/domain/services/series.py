"""The results of a check as a time series: single results, and aggregates over spans of time."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field

BUCKET: Final = timedelta(minutes=5)
DAY: Final = timedelta(days=1)
DETAIL_CHARS: Final = 500
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATENCY_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
NO_LATENCIES: Final[tuple[float, ...]] = (0,) * (len(LATENCY_SECONDS) + 2)
_VALID_UNTIL: Final = re.compile(r"certificate valid until (\d{4}-\d\d-\d\d)")
_EXPIRES_IN: Final = re.compile(r"certificate expires in (\d+) (day|hour)")


class PointState(StrEnum):
    """State of one result; `inconclusive` if this machine was too busy to decide."""

    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class SeriesResolution(StrEnum):
    """Resolution of a series: single results, 5 minutes, or days (UTC)."""

    RAW = "raw"
    FINE = "5m"
    DAILY = "1d"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One result of a scheduled check, with its retries; `at` is when it ended.

    `late_ms` is by how much it began after its time, 0 where it was in time. `silent` says that
    its service was paused or in a maintenance window: no uptime counts it.
    """

    at: datetime
    state: PointState
    latency_ms: float | None = None
    status: int | None = None
    attempts: int = 1
    late_ms: int = 0
    detail: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun(SeriesPoint):
    """One run of a scheduled check."""

    service: str
    check: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSeries:
    """A check with its last conclusive result.

    `changed_at` is the beginning of its current state, passing or failing, `streak` the number of
    results in that state. `folded_to` and `day_folded_to` are the ends of the aggregated results.
    `latencies` are cumulative counts up to each of `LATENCY_SECONDS`, the count above, and last the
    sum in seconds.
    """

    id: int
    service: str
    check: Annotated[str, Field(column="name")]
    kind: str
    state: PointState = PointState.INCONCLUSIVE
    changed_at: datetime | None = None
    checked_at: datetime | None = None
    streak: int = 0
    latency_ms: float | None = None
    status: int | None = None
    attempts: int = 1
    late_ms: int = 0
    detail: str = ""
    silent: bool = False
    folded_to: datetime | None = None
    day_folded_to: datetime | None = None
    latencies: tuple[float, ...] = NO_LATENCIES

    @property
    def failing(self) -> bool:
        """Whether its last conclusive result is a failure."""
        return self.state is PointState.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """The aggregated results of a span of time that begins at `at`.

    `count` are conclusive results; of them `silent`, and of the failures `silent_failures`, are
    from a pause or a maintenance window. Latencies are in milliseconds, of results that have one:
    percentiles use the nearest rank, always a measured value.
    """

    at: datetime
    count: int
    failures: int
    warnings: int
    p50_ms: float | None = None
    p95_ms: float | None = None
    max_ms: float | None = None
    silent: int = 0
    silent_failures: int = 0


CLOCK_SET_BACK: Final = timedelta(minutes=5)
"""A result that is older than the last one by this much is of a clock that was set back."""


def advance(series: CheckSeries, run: CheckRun) -> CheckSeries:
    """Return a series after one more run; an inconclusive or an older one changes nothing.

    A run that is much older is a new one, after the clock was set back.
    """
    age = timedelta() if series.checked_at is None else series.checked_at - run.at
    old = series.checked_at is not None and timedelta() <= age < CLOCK_SET_BACK
    if old or run.state is PointState.INCONCLUSIVE:
        return series
    fails = run.state is PointState.FAILED
    same = series.changed_at is not None and series.failing == fails
    return replace(
        series,
        kind=run.kind,
        state=run.state,
        changed_at=min(series.changed_at, run.at) if series.changed_at and same else run.at,
        checked_at=run.at,
        streak=series.streak + 1 if same else 1,
        latency_ms=run.latency_ms,
        status=run.status,
        attempts=run.attempts,
        late_ms=run.late_ms,
        detail=run.detail,
        silent=run.silent,
        latencies=_count_latency(series.latencies, run.latency_ms),
    )


def _count_latency(counts: tuple[float, ...], latency_ms: float | None) -> tuple[float, ...]:
    if latency_ms is None:
        return counts
    seconds, at = latency_ms / 1_000, bisect_left(LATENCY_SECONDS, latency_ms / 1_000)
    total = round(counts[-1] + seconds, 6)
    return (*counts[:at], counts[at] + 1, *counts[at + 1 : -1], total)


def certificate_left(series: CheckSeries, *, now: datetime) -> timedelta | None:
    """Return the remaining validity of a check's certificate, by its last result.

    Only results of TLS checks are parsed: a command may print any text.
    """
    if series.kind != "tls":
        return None
    if found := _VALID_UNTIL.search(series.detail):
        return datetime.fromisoformat(f"{found[1]}T00:00Z") - now
    if (found := _EXPIRES_IN.search(series.detail)) and series.checked_at is not None:
        left = timedelta(**{f"{found[2]}s": int(found[1])})
        return series.checked_at + left - now
    return None


def span_start(at: datetime, span: timedelta) -> datetime:
    """Return the beginning of the span of time that contains a moment."""
    return EPOCH + (at - EPOCH) // span * span


def aggregate(points: Iterable[SeriesPoint], span: timedelta) -> list[Aggregate]:
    """Return the aggregate of each span of time with a conclusive result, oldest first."""
    by_span: dict[datetime, list[SeriesPoint]] = {}
    for each in points:
        if each.state is not PointState.INCONCLUSIVE:
            by_span.setdefault(span_start(each.at, span), []).append(each)
    return [_aggregate_span(at, by_span[at]) for at in sorted(by_span)]


def _aggregate_span(at: datetime, points: Sequence[SeriesPoint]) -> Aggregate:
    times = sorted(each.latency_ms for each in points if each.latency_ms is not None)
    return Aggregate(
        at=at,
        count=len(points),
        failures=sum(each.state is PointState.FAILED for each in points),
        warnings=sum(each.state is PointState.WARNED for each in points),
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        max_ms=times[-1] if times else None,
        silent=sum(each.silent for each in points),
        silent_failures=sum(each.silent and each.state is PointState.FAILED for each in points),
    )


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return a percentile of ordered numbers by the nearest rank; None for no numbers."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def resolution_for(span: timedelta) -> SeriesResolution:
    """Return the default resolution for a span of time."""
    if span <= timedelta(hours=6):
        return SeriesResolution.RAW
    return SeriesResolution.FINE if span <= timedelta(days=14) else SeriesResolution.DAILY
