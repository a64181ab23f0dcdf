"""Calibration: how often the next evidence confirmed memories of each confidence."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.learning.outcome import beta_interval

EDGES: Final = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The lower bound of each group of confidences; the last one is full confidence alone."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How often memories of one confidence were confirmed or contradicted next."""

    confidence: float
    confirmed: int = 0
    contradicted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationGroup:
    """The evidence on memories of a range of confidence, without `high` itself unless it is 1.0."""

    low: float
    high: float
    confirmed: int
    contradicted: int

    @property
    def share(self) -> float:
        """Return the share of confirmed evidence."""
        return round(self.confirmed / (self.confirmed + self.contradicted), 3)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 90 % interval of that share."""
        return beta_interval(self.confirmed, self.confirmed + self.contradicted)


def calibrate(evidence: Iterable[Evidence]) -> tuple[CalibrationGroup, ...]:
    """Group evidence by the confidence before it, the lowest first; empty groups are omitted.

    Well calibrated memories are confirmed at about the rate of their confidence.
    """
    confirmed, contradicted = [0] * len(EDGES), [0] * len(EDGES)
    for each in evidence:
        group = max(0, bisect_right(EDGES, round(each.confidence, 6)) - 1)
        confirmed[group] += each.confirmed
        contradicted[group] += each.contradicted
    highs = (*EDGES[1:], 1.0)
    groups = zip(EDGES, highs, confirmed, contradicted, strict=True)
    return tuple(
        CalibrationGroup(low=low, high=high, confirmed=yes, contradicted=no)
        for low, high, yes, no in groups
        if yes + no
    )
