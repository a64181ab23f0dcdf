"""Figures for Prometheus: what this process counts, and what the rows say of all of them."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api import common_shapes, params
from lamplighter.api.context import Door, door
from lamplighter.repository.upkeep.statistics import Figures
from lamplighter.telemetry import counts
from lamplighter.usecases.search.semantic import Absent

if TYPE_CHECKING:  # it takes a while to load, and who asks for no figures never needs it
    from prometheus_client.core import Metric


async def metrics(request: Request) -> Response:
    """GET /metrics."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    params.query(request, common_shapes.Nothing)
    here = door(request)
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(Families(await here.figures.at(here.db, here.now()), here))
    content = await asyncio.to_thread(generate_latest, registry)
    return Response(content, headers={"Content-Type": CONTENT_TYPE_LATEST})


class Families:
    """What is told, family by family."""

    def __init__(self, found: Figures | None, here: Door) -> None:
        self._found, self._here = found, here

    def describe(self) -> "Iterable[Metric]":
        """Say nothing of what will be collected: nobody else registers there."""
        return ()

    def collect(self) -> "Iterator[Metric]":
        """Return every family."""
        from prometheus_client.core import InfoMetricFamily

        yield InfoMetricFamily(
            "lamplighter_build", "What runs here.", value={"version": __version__}
        )
        yield from _own()
        yield _gauge("feed_clients", "Clients that follow the feed.", len(self._here.hub.followers))
        yield _gauge(
            "feed_behind_changes",
            "Changes that the slowest client of the feed has still to be sent.",
            self._here.hub.behind,
        )
        yield _gauge(
            "database_up", "Whether the rows could be counted.", float(self._found is not None)
        )
        if self._found is not None:
            yield from _of_rows(self._found)
            if not isinstance(self._here.near, Absent | None):
                yield _gauge(
                    "vectors_missing",
                    "Memories that are not found by meaning yet.",
                    self._found.without_vector,
                )


def _own() -> "Iterator[Metric]":
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


def _of_rows(found: Figures) -> "Iterator[Metric]":
    yield _gauge(
        "memories",
        "Memories held, by category and state (active, or why not).",
        found.memories,
        ("category", "state"),
    )
    yield _gauge(
        "sessions",
        "Sessions held, by tier (0 is a client's) and status.",
        found.sessions,
        ("tier", "status"),
    )
    yield _gauge("cooldown_uses", "Actions of the last 24 hours.", found.uses, ("action",))
    yield _gauge("session_cost_dollars", "What the sessions held have cost.", found.dollars)
    yield _gauge("contexts_told", "Contexts that sessions held were told.", found.told)
    yield _gauge("reviews_open", "Reviews that wait for a person.", found.reviews)
    yield _gauge("approvals_waiting", "Approvals that wait for a person.", found.approvals)
    yield _gauge("requests_waiting", "Requests for sessions that wait.", found.requests)
    yield _gauge("outbox_notices", "Notices that are not sent yet.", found.outbox)
    yield _gauge("index_waiting", "Rows that wait to be indexed.", found.unindexed)
    yield _gauge("database_size_bytes", "What the database takes.", found.bytes)
    yield _gauge("feed_position", "The number of the last change of the feed.", found.changes)
    yield _gauge("supervisor_leading", "Whether a supervisor leads.", float(found.leads))
    yield _gauge("halted", "Whether everything is halted.", float(found.halted))
    if found.heartbeat_age is not None:
        yield _gauge(
            "supervisor_heartbeat_age_seconds",
            "How long ago the supervisor's heart beat last.",
            found.heartbeat_age,
        )


def _gauge(
    name: str,
    about: str,
    found: float | Mapping[tuple[str, ...], int],
    labels: tuple[str, ...] = (),
) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"lamplighter_{name}", about, labels=labels)
    for values, count in found.items() if isinstance(found, Mapping) else (((), found),):
        family.add_metric(values, count)
    return family
