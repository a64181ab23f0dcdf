"""Prometheus metrics: counters of this process and counts from the database."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, product
from typing import TYPE_CHECKING

from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import common_shapes
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.domain.health.figures import MemoryMeasurement
from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.search.search import NoSemanticSearch
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import IncidentState
from lamplighter.domain.services.series import LATENCY_SECONDS, CheckSeries, certificate_left
from lamplighter.domain.services.vitals import VitalStatus
from lamplighter.repository.upkeep.statistics import StoreFigures
from lamplighter.telemetry import counts

if TYPE_CHECKING:  # slow to import, and needed only for metrics
    from prometheus_client.core import Metric


@operation("GET", "/metrics", "health:read", None, media="text/plain", below="")
async def metrics(here: ApiContext, query: common_shapes.NoParameters) -> Response:
    """Read metrics in Prometheus format."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(MetricFamilies(await here.figures.at(here.db, here.now()), here))
    content = await asyncio.to_thread(generate_latest, registry)
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


class MetricFamilies:
    """The metrics, family by family."""

    def __init__(self, found: StoreFigures | None, here: ApiContext) -> None:
        self._found, self._here = found, here

    def describe(self) -> "Iterable[Metric]":
        """Describe no metrics: nothing else registers with this collector."""
        return ()

    def collect(self) -> "Iterator[Metric]":
        """Return every family."""
        from prometheus_client.core import InfoMetricFamily

        yield InfoMetricFamily(
            "lamplighter_build", "Running version.", value={"version": __version__}
        )
        yield from _process_metrics()
        yield _gauge(
            "feed_clients", "Clients connected to the change feed.", len(self._here.hub.followers)
        )
        yield _gauge(
            "feed_behind_changes",
            "Changes not yet sent to the slowest client of the change feed.",
            self._here.hub.behind,
        )
        yield _gauge(
            "database_up", "Whether the database could be queried.", float(self._found is not None)
        )
        if self._found is not None:
            yield from _row_metrics(self._found)
            declared = set(self._here.services().names)
            up = {key: n for key, n in self._found.services_up.items() if key[0] in declared}
            yield _gauge(
                "service_up", "Whether all checks of a service passed last.", up, ("service",)
            )
            checks = [each for each in self._found.checks if each.service in declared]
            yield from _check_metrics(checks, self._found.at)
            if not isinstance(self._here.near, NoSemanticSearch | None):
                yield _gauge(
                    "vectors_missing",
                    "Memories without an embedding.",
                    self._found.without_vector,
                )


def _process_metrics() -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

    for counter in counts.COUNTERS:
        family = CounterMetricFamily(counter.name, counter.about, labels=counter.labels)
        for values, count in [*counter.series.items()]:
            family.add_metric(values, count)
        yield family
    for histogram in counts.HISTOGRAMS:
        shown = HistogramMetricFamily(histogram.name, histogram.about, labels=histogram.labels)
        for values, times in [*histogram.series.items()]:
            shown.add_metric(values, times.buckets(), times.total)
        yield shown


def _row_metrics(figures: StoreFigures) -> "Iterator[Metric]":
    yield _gauge(
        "memories",
        "Stored memories, by category and state (active, or the reason for being inactive).",
        figures.memories,
        ("category", "state"),
    )
    yield _gauge(
        "sessions",
        "Stored sessions, by tier (0: client sessions) and status.",
        figures.sessions,
        ("tier", "status"),
    )
    yield _gauge("cooldown_uses", "Actions in the last 24 hours.", figures.uses, ("action",))
    yield _gauge("session_cost_dollars", "Cost of all stored sessions.", figures.dollars)
    yield _gauge(
        "prompt_contexts", "Contexts included in the prompts of stored sessions.", figures.prompts
    )
    yield _gauge(
        "verification_memories",
        "Active memories by verification: verified, unverified, marked, and the last outcome.",
        figures.verification,
        ("state",),
    )
    incidents: dict[tuple[str, ...], int] = dict.fromkeys(product(IncidentState, Level), 0)
    incidents |= figures.incidents  # a sum needs a series for each combination
    yield _gauge("incidents", "Stored incidents.", incidents, ("state", "severity"))
    if figures.health is not None:
        yield from _health_metrics(figures.health)
    yield _gauge("reviews_open", "Open reviews.", figures.reviews)
    yield _gauge("notebook_pages_waiting", "Notebook pages to review.", figures.pages_waiting)
    yield _gauge("approvals_waiting", "Approvals waiting for a decision.", figures.approvals)
    yield _gauge("requests_waiting", "Waiting session requests.", figures.requests)
    yield _gauge("outbox_notices", "Notifications not sent yet.", figures.outbox)
    yield _gauge("index_waiting", "Rows not indexed yet.", figures.unindexed)
    yield _gauge("database_size_bytes", "Size of the database.", figures.bytes)
    yield _gauge(
        "feed_position", "Sequence number of the last change in the feed.", figures.changes
    )
    yield _gauge("supervisor_leading", "Whether a supervisor is the leader.", float(figures.leads))
    yield _gauge("halted", "Whether Lamplighter is halted.", float(figures.halted))
    if figures.heartbeat_age is not None:
        yield _gauge(
            "supervisor_heartbeat_age_seconds",
            "Time since the last heartbeat of the supervisor.",
            figures.heartbeat_age,
        )


def _check_metrics(checks: Sequence[CheckSeries], at: datetime) -> "Iterator[Metric]":
    from prometheus_client.core import HistogramMetricFamily

    latency = HistogramMetricFamily(
        "lamplighter_check_latency_seconds",
        "Latency of the results of a check.",
        labels=("service", "check"),
    )
    bounds = [*map(str, LATENCY_SECONDS), "+Inf"]
    for each in checks:
        *counts, total = each.latencies
        if any(counts):
            buckets = [*zip(bounds, accumulate(counts), strict=True)]
            latency.add_metric((each.service, each.check), buckets, total)
    yield latency
    left = {(each.service, each.check): certificate_left(each, now=at) for each in checks}
    yield _gauge(
        "certificate_expiry_seconds",
        "Time until the certificate of a check expires.",
        {key: round(span.total_seconds()) for key, span in left.items() if span is not None},
        ("service", "check"),
    )


def _health_metrics(measurement: MemoryMeasurement) -> "Iterator[Metric]":
    findings = judge_figures(measurement.figures)
    yield _gauge(
        "memory_health",
        "Figures of the last measurement of the memory.",
        {(each.name,): each.value for each in findings},
        ("figure",),
    )
    yield _gauge(
        "memory_goals_missed",
        "Figures of the memory that miss their goal.",
        sum(each.state is VitalStatus.FAILING for each in findings),
    )
    yield _gauge(
        "memory_measured_timestamp_seconds",
        "Time of the last measurement of the memory.",
        measurement.at.timestamp(),
    )


def _gauge(
    name: str,
    about: str,
    samples: float | Mapping[tuple[str, ...], float],
    labels: tuple[str, ...] = (),
) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"lamplighter_{name}", about, labels=labels)
    for values, count in samples.items() if isinstance(samples, Mapping) else (((), samples),):
        family.add_metric(values, count)
    return family
