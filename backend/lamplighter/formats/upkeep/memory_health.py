"""The health of the memory as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from lamplighter.domain.health.calibration import CalibrationGroup
from lamplighter.domain.health.figures import MemoryMeasurement
from lamplighter.domain.health.findings import HealthFinding, judge_figures, worst_state
from lamplighter.formats.serialize import Writer, format_moment


def health_as_json(
    newest: MemoryMeasurement | None, trend: Sequence[MemoryMeasurement]
) -> dict[str, Any]:
    """Return the newest measurement with its findings, and the values of earlier ones."""
    points = [
        {
            "at": format_moment(each.at),
            "values": {some.name: some.value for some in judge_figures(each.figures)},
        }
        for each in trend
    ]
    return {"measurement": None if newest is None else _measurement(newest), "trend": points}


def calibration_as_json(groups: Sequence[CalibrationGroup]) -> list[dict[str, Any]]:
    """Return the calibration of confidences, the lowest first."""
    return [
        {**asdict(each), "share": each.share, "interval": list(each.interval)} for each in groups
    ]


def _measurement(each: MemoryMeasurement) -> dict[str, Any]:
    findings = judge_figures(each.figures)
    return {
        "id": each.id,
        "at": format_moment(each.at),
        "trigger": each.trigger,
        "state": worst_state(findings),
        "compared_at": format_moment(each.compared_at),
        "findings": [_finding(some) for some in findings],
        "figures": each.stored_figures(),
    }


_finding: Final = Writer[HealthFinding]()
