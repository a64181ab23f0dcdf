"""The figures of the memory's health, and the drift score."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

WINDOW: Final = timedelta(days=30)
"""The period of events that count for drift; a memory that was unused for this long is stale."""

DRIFT_LIMIT: Final = 30
"""Above this score memories are queued for verification (four-tier-memory-schema)."""

CYCLE_EVERY: Final = timedelta(days=7)
"""Drift queues memories at most once in this period."""

CORRECTION_WEIGHT: Final = 2
CALM: Final = 10
"""The number of presumed agreements: a single contradiction in a new home is no drift."""


class MeasurementTrigger(StrEnum):
    """The trigger of a measurement."""

    SCHEDULE = "schedule"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftCounts:
    """The changes of memories in the window of the drift score.

    `corrections`: a person changed a text, or decided for the new one in a review.
    `contradictions`: a session or a source contradicted a memory. `agreements`: a memory was
    reinforced, verified or confirmed, or a review decided for it.
    """

    corrections: int = 0
    contradictions: int = 0
    agreements: int = 0

    @property
    def score(self) -> int:
        """Return the drift score, 0 to 100: the weighted share of disagreement with memories."""
        against = CORRECTION_WEIGHT * self.corrections + self.contradictions
        return round(100 * against / (against + self.agreements + CALM))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFigures:
    """The figures of one measurement.

    Of active memories: `active` are all, `undistilled` and `distilled` those of knowledge. `stale`
    ones were not used for 30 days. Other memories superseded `replaced` ones. `episodes` wait for
    the organizer, `unverified` and `marked` for verification, `reviews` for a person. Of the
    `compared` memories `duplicates` repeat another one, and the organizer can supersede
    `removable`. `queued` were queued by the drift score.
    """

    active: int = 0
    undistilled: int = 0
    distilled: int = 0
    replaced: int = 0
    stale: int = 0
    episodes: int = 0
    unverified: int = 0
    marked: int = 0
    verified: int = 0
    failed: int = 0
    reviews: int = 0
    review_days: int = 0
    corrections: int = 0
    contradictions: int = 0
    agreements: int = 0
    set_aside: int = 0
    compressed: int = 0
    compared: int = 0
    duplicates: int = 0
    removable: int = 0
    queued: int = 0

    @property
    def ratio(self) -> float:
        """Undistilled memories for each one that is distilled, or was replaced by distillation."""
        return round(self.undistilled / max(1, self.distilled + self.replaced), 2)

    @property
    def density(self) -> float:
        """The share of compared memories that repeat another one."""
        return round(self.duplicates / self.compared, 4) if self.compared else 0.0

    @property
    def drift(self) -> int:
        """The drift score, 0 to 100."""
        return DriftCounts(
            corrections=self.corrections,
            contradictions=self.contradictions,
            agreements=self.agreements,
        ).score


_NAMES: Final = tuple(each.name for each in fields(MemoryFigures))


def figures_from(stored: Mapping[str, Any]) -> MemoryFigures:
    """Parse stored figures; earlier versions may have fewer."""
    return MemoryFigures(**{name: int(stored[name]) for name in _NAMES if name in stored})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMeasurement:
    """The figures at a moment; `compared_at` is when near-duplicates were counted, None: never."""

    id: int
    at: datetime
    trigger: MeasurementTrigger
    figures: MemoryFigures
    compared_at: datetime | None

    def stored_figures(self) -> dict[str, int]:
        """Return the figures as they are stored."""
        return asdict(self.figures)


def opens_cycle(drift: int, last_cycle: datetime | None, *, now: datetime) -> bool:
    """Return whether a drift score queues memories for verification now."""
    return drift > DRIFT_LIMIT and (last_cycle is None or now - last_cycle >= CYCLE_EVERY)


def is_measurement_due(last: datetime | None, interval: timedelta | None, *, now: datetime) -> bool:
    """Return whether a scheduled measurement is due; never without an interval."""
    return interval is not None and (last is None or now - last >= interval)
