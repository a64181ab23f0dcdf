"""Latency and heartbeats as they go out: columns, one entry per span of time or result."""

from msgspec import Struct

from lamplighter.api.common_shapes import Name
from lamplighter.domain.services.checks.silence import SilenceKind
from lamplighter.domain.services.latency import LatencyPeriod


class LatencyQuery(Struct):
    """How far back the latency is read."""

    period: LatencyPeriod = LatencyPeriod.DAY


class CheckLatencyOut(Struct):
    """A check: `at` numbers the spans of time that have results, the other columns follow it.

    `count` are conclusive results; latencies are in milliseconds, null where none was measured.
    `median_ms` is the median of the period, `before_ms` that of the period before it.
    """

    check: str
    kind: str
    at: list[int]
    count: list[int]
    failures: list[int]
    p50_ms: list[float | None]
    p95_ms: list[float | None]
    max_ms: list[float | None]
    median_ms: float | None
    before_ms: float | None


class SilentSpanOut(Struct):
    """A pause or a maintenance window of a service."""

    kind: SilenceKind
    since: str
    until: str
    reason: str


class LatencyChartOut(Struct):
    """Latency and failures of a service's checks; span n begins `since` + n * `seconds`."""

    service: str
    period: LatencyPeriod
    since: str
    until: str
    seconds: int
    checks: list[CheckLatencyOut]
    silences: list[SilentSpanOut]


class LatencyOut(LatencyChartOut):
    """Latency and failures of a service's checks over a period."""

    seq: int


class HeartbeatQuery(Struct):
    """Filters for heartbeats: of one service, of a group, or with a tag."""

    service: Name | None = None
    group: Name | None = None
    tag: Name | None = None


class HeartbeatOut(Struct):
    """The newest results of a service, oldest first, and its uptime in percent.

    `states` has a letter per result: passed, warned, failed or inconclusive, and `m` for any
    result in a pause or a maintenance window. `ages` are the seconds before `at`, the time of the
    newest result. `of` are positions in `checks`, empty for a single check. `day` and `month` are
    the uptime of 1 and 30 days, without pauses and maintenance windows.
    """

    service: str
    checks: list[str]
    at: str | None
    states: str
    ages: list[int]
    of: list[int]
    latency_ms: list[int | None]
    day: float | None
    month: float | None


class HeartbeatsOut(Struct):
    """The newest results of all services."""

    services: list[HeartbeatOut]
    seq: int
