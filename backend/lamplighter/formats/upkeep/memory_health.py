"""The health of the memory as JSON."""

from collections.abc import Sequence
from typing import Any

from lamplighter.domain.health.calibration import CalibrationGroup
from lamplighter.domain.health.figures import MemoryMeasurement
from lamplighter.domain.health.findings import judge_figures, worst_state
from lamplighter.formats.serialize import format_moment


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
        {
            "low": each.low,
            "high": each.high,
            "confirmed": each.confirmed,
            "contradicted": each.contradicted,
            "share": each.share,
            "interval": list(each.interval),
        }
        for each in groups
    ]


def _measurement(each: MemoryMeasurement) -> dict[str, Any]:
    findings = judge_figures(each.figures)
    return {
        "id": each.id,
        "at": format_moment(each.at),
        "trigger": each.trigger,
        "state": worst_state(findings),
        "compared_at": format_moment(each.compared_at),
        "findings": [
            {
                "name": some.name,
                "state": some.state,
                "value": some.value,
                "goal": some.goal,
                "words": some.text,
                "action": some.action,
            }
            for some in findings
        ],
        "figures": each.stored_figures(),
    }
