"""Silence: periods in which the failures of a service are recorded and have no other effect."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import dropwhile, islice, takewhile
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from cronsim import CronSim

if TYPE_CHECKING:
    from lamplighter.domain.services.series import CheckRun, CheckSeries
    from lamplighter.domain.services.service import Service, Services

MAX_REASON_CHARS: Final = 300
DECIDES_WITHIN: Final = timedelta(minutes=5)
"""How long after its silence a failing service has time for the result that decides."""

MAX_TIMES: Final = 100
"""The maximum number of listed openings of one window."""

MAX_CHAINED: Final = 20
"""The maximum number of windows that count as one: windows may be open without an end."""


def cron_times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of a cron expression after a moment.

    A time within the hour that a zone repeats in autumn occurs once: CronSim returns it also for a
    moment after that time.
    """
    times = (each.astimezone(UTC) for each in CronSim(cron, after.astimezone(ZoneInfo(zone))))
    return dropwhile(lambda each: each <= after, times)


class SilenceKind(StrEnum):
    """The reason for silence: a person paused the service, or a maintenance window is open."""

    PAUSE = "pause"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """A maintenance window: once from `start` to `end`, or for `seconds` at the times of `cron`."""

    name: str = ""
    start: datetime | None = None
    end: datetime | None = None
    cron: str | None = None
    zone: str = "UTC"
    seconds: float = 0.0

    def open_until(self, at: datetime) -> datetime | None:
        """Return when the window that is open at a moment closes; None if it is not open."""
        if self.start is not None and self.end is not None:
            return self.end if self.start <= at < self.end else None
        if self.cron is None:
            return None
        length = timedelta(seconds=self.seconds)
        began = next(cron_times(self.cron, self.zone, at - length), None)
        return None if began is None or began > at else began + length

    def times(self, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
        """Return when the window opened and closed between two moments, at most `MAX_TIMES`."""
        if self.start is not None and self.end is not None:
            return [(self.start, self.end)] if self.start < end and self.end > start else []
        if self.cron is None:
            return []
        length = timedelta(seconds=self.seconds)
        began = islice(cron_times(self.cron, self.zone, start - length), MAX_TIMES)
        return [(each, each + length) for each in takewhile(lambda each: each < end, began)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePause:
    """A pause of a service by a person, until a person resumes the service or until a moment."""

    id: int
    service: str
    reason: str
    by: str
    began_at: datetime
    until: datetime | None
    ended_at: datetime | None

    def covers(self, at: datetime) -> bool:
        """Whether the service was paused at a moment."""
        ends = [each for each in (self.until, self.ended_at) if each is not None]
        return self.began_at <= at and all(at < each for each in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The silence of a service at a moment; `until` None means until a person ends it."""

    kind: SilenceKind
    until: datetime | None
    reason: str = ""


def find_silence(
    windows: Sequence[MaintenanceWindow],
    pauses: Iterable[ServicePause],
    *,
    declared: bool,
    at: datetime,
) -> Silence | None:
    """Return the silence of a service at a moment; a pause takes precedence over a window.

    `declared` is whether services.yaml pauses the service. Windows that overlap end together, and
    a pause with those that are open at its end.
    """
    if declared:
        return Silence(kind=SilenceKind.PAUSE, until=None, reason="paused in services.yaml")
    for pause in pauses:
        if pause.covers(at):
            until = pause.until and _end_of_chain(windows, pause.until)
            return Silence(kind=SilenceKind.PAUSE, until=until, reason=pause.reason)
    for window in windows:
        if (until := window.open_until(at)) is not None:
            until = _end_of_chain(windows, until)
            return Silence(kind=SilenceKind.MAINTENANCE, until=until, reason=window.name)
    return None


def _end_of_chain(windows: Sequence[MaintenanceWindow], end: datetime) -> datetime:
    """Return the first moment from `end` at which no window is open."""
    for _ in range(MAX_CHAINED):
        ends = [until for each in windows if (until := each.open_until(end)) is not None]
        if not ends:
            break
        end = max(ends)
    return end


def silences_of(
    services: Iterable["Service"], found: Sequence[ServicePause], *, at: datetime
) -> dict[str, Silence]:
    """Return the silences of services at a time, from the pauses of that time."""
    own: dict[str, list[ServicePause]] = {}
    for each in found:
        own.setdefault(each.service, []).append(each)
    silent: Mapping[str, Silence | None] = {
        each.name: find_silence(
            each.maintenance, own.get(each.name, ()), declared=each.paused, at=at
        )
        for each in services
    }
    return {name: each for name, each in silent.items() if each is not None}


def dependents_of_planned_work(
    services: "Services",
    own: Mapping[str, Silence],
    failing: Sequence["CheckSeries"],
    *,
    is_own: Callable[[str, str], bool],
    at: datetime,
) -> dict[str, Silence]:
    """Return the silences of services with a dependency that fails in its own silence.

    Services with a fault of their own are left out: `is_own` decides by a failure. A silence
    without an end affects no dependent: its faults would never be investigated. After the end, the
    next result decides, for which `DECIDES_WITHIN` is left.
    """
    planned = {
        each.service: own[each.service].until if each.service in own else None
        for each in failing
        if each.silent and _is_planned(each, own.get(each.service), at)
    }
    at_fault = {each.service for each in failing if planned and is_own(each.service, each.detail)}
    silences: dict[str, Silence] = {}
    for service in services if planned else ():
        if service.name in own or service.name in at_fault:
            continue
        for need in services.with_needs([service]):
            if need is not service and need.name in planned:
                silences[service.name] = Silence(
                    kind=SilenceKind.MAINTENANCE,
                    until=planned[need.name],
                    reason=f"planned work on {need.name}",
                )
    return silences


def _is_planned(each: "CheckSeries", silence: Silence | None, at: datetime) -> bool:
    if silence is not None:
        return silence.until is not None
    return each.checked_at is not None and at - each.checked_at < DECIDES_WITHIN


def with_expected_failures(
    services: "Services",
    own: Mapping[str, Silence],
    failing: Sequence["CheckSeries"],
    *,
    is_own: Callable[[str, str], bool],
    at: datetime,
) -> dict[str, Silence]:
    """Add to the silences of services those that fail because of planned work on a dependency."""
    names = {each.service for each in failing}
    expected = dependents_of_planned_work(services, own, failing, is_own=is_own, at=at)
    return {**own, **{name: each for name, each in expected.items() if name in names}}


def mark_silent(
    runs: Iterable["CheckRun"], services: "Services", paused: Sequence[ServicePause]
) -> "list[CheckRun]":
    """Mark the results of services that were silenced when the check ended."""
    by_name = {each.name: each for each in services}
    return [
        replace(run, silent=True)
        if (service := by_name.get(run.service)) and silences_of([service], paused, at=run.at)
        else run
        for run in runs
    ]
