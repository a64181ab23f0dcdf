"""Shapes of the memory health."""

from typing import Literal

from msgspec import Struct

from lamplighter.api.common_shapes import Seq


class HealthFindingOut(Struct):
    """One figure against its goal, and what to do: run the organizer or verification, or a list."""

    name: str
    state: Literal["ok", "warning", "failing", "unknown"]
    value: float
    goal: str
    words: str
    action: Literal["organize", "verify", "reviews", "unused", "unverified"] | None


class MemoryMeasurementOut(Struct):
    """A measurement; `compared_at` is when near-duplicates were counted, null: not yet."""

    id: int
    at: str
    trigger: Literal["schedule", "operator"]
    state: Literal["ok", "warning", "failing"]
    compared_at: str | None
    findings: list[HealthFindingOut]
    figures: dict[str, int]


class HealthPointOut(Struct):
    """The values of the findings at an earlier moment, by name."""

    at: str
    values: dict[str, float]


class CalibrationGroupOut(Struct):
    """How often evidence of the last 90 days confirmed memories with a range of confidence.

    `interval` is the 90 % interval of the confirmed `share`; 1.0 is a range of its own.
    """

    low: float
    high: float
    confirmed: int
    contradicted: int
    share: float
    interval: list[float]


class MemoryHealthOut(Struct):
    """The newest measurement, null before the first one, and up to 60 points, oldest first.

    `calibration` compares confidences with their outcomes, the lowest first.
    """

    measurement: MemoryMeasurementOut | None
    trend: list[HealthPointOut]
    calibration: list[CalibrationGroupOut]
    seq: Seq


class MeasureIn(Struct):
    """Whether to compare near-duplicates also among many memories. This can be slow."""

    compare: bool = False
