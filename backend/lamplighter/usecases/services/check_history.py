"""The history of scheduled checks: their series over a span of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.limits import UPTIME_DAYS
from lamplighter.domain.services.series import (
    Aggregate,
    CheckSeries,
    SeriesPoint,
    SeriesResolution,
    resolution_for,
)
from lamplighter.domain.services.service import Service
from lamplighter.formats.serialize import Writer, format_moment
from lamplighter.repository import Database
from lamplighter.repository.services import series, series_totals
from lamplighter.usecases.services.check_trends import declared_series, uptime

RECENT: Final = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSelection:
    """The selected part of a series: from `start` to before `end`, at most `limit` entries.

    None for `start` is 6 hours before the end; None for `resolution` derives it from the span.
    """

    check: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    resolution: SeriesResolution | None = None
    limit: int = 1_000


async def read_series(
    db: Database, service: Service, selection: SeriesSelection, *, now: datetime
) -> dict[str, Any]:
    """Return the series of a service's checks as JSON; raises NotFound and Invalid."""
    end = selection.end or now
    start = selection.start or end - RECENT
    if start >= end:
        raise Invalid(InvalidField("since", "is not before until"))
    resolution = selection.resolution or resolution_for(end - start)
    return {
        "service": service.name,
        "resolution": resolution,
        "since": format_moment(start),
        "until": format_moment(end),
        "checks": [
            await _history(db, each, resolution, start, end, selection.limit)
            for each in await _selected(db, service, selection.check)
        ],
    }


async def read_uptime(db: Database, service: Service, *, now: datetime) -> dict[str, Any]:
    """Return the share of passed results of a service as JSON, in percent by window.

    Of several checks the worst counts, without the results of pauses and maintenance windows; null
    if no other result is stored.
    """
    windows = await uptime_windows(db, await declared_series(db, service), now=now)
    return {"service": service.name, **windows}


async def uptime_windows(
    db: Database, some: Sequence[CheckSeries], *, now: datetime
) -> dict[str, float | None]:
    """Return the share of passed results of some checks of a service, as `read_uptime` does."""
    starts = [now - timedelta(days=days) for days in UPTIME_DAYS.values()]
    counts = await series_totals.counts_since(db, some, *starts)
    return {name: uptime(each.values()) for name, each in zip(UPTIME_DAYS, counts, strict=True)}


async def _selected(db: Database, service: Service, check: str | None) -> list[CheckSeries]:
    """Return the series of the declared checks of a service, or of one check."""
    names = [each.name for each in service.checks if check in (None, each.name)]
    found = {each.check: each for each in await series.of_services(db, [service.name])}
    if check is not None and not names and check not in found:
        raise NotFound(f"{service.name} has no check {check!r}.")
    return [found[name] for name in (names or [str(check)]) if name in found]


async def _history(
    db: Database,
    each: CheckSeries,
    resolution: SeriesResolution,
    start: datetime,
    end: datetime,
    limit: int,
) -> dict[str, Any]:
    """Return a series and its entries as JSON, oldest first: single results, or aggregates."""
    points: Sequence[SeriesPoint] = ()
    spans: Sequence[Aggregate] = ()
    if resolution is SeriesResolution.RAW:
        points = await series.points(db, each.id, start=start, end=end, limit=limit)
    else:
        spans = await series.aggregates(db, resolution, each.id, start=start, end=end, limit=limit)
    return {
        "check": each.check,
        "kind": each.kind,
        "state": each.state,
        "changed_at": format_moment(each.changed_at),
        "checked_at": format_moment(each.checked_at),
        "detail": each.detail,
        "points": list(map(_point, points)),
        "aggregates": list(map(_aggregate, spans)),
    }


_point: Final = Writer[SeriesPoint]()
_aggregate: Final = Writer[Aggregate]()
