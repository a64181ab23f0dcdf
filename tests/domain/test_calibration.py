"""Confidences, compared with the share that evidence confirmed."""

from lamplighter.domain.health.calibration import Evidence, calibrate


def test_evidence_is_grouped_by_the_prior_confidence() -> None:
    found = calibrate(
        [
            Evidence(0.7, confirmed=5, contradicted=1),
            Evidence(0.79999, confirmed=1),
            Evidence(0.7999999999, confirmed=2),  # 0.8 in floating point
            Evidence(1.0, confirmed=9, contradicted=1),
            Evidence(0.1, contradicted=1),
        ]
    )

    assert [(each.low, each.high, each.confirmed, each.contradicted) for each in found] == [
        (0.0, 0.3, 0, 1),
        (0.7, 0.8, 6, 1),
        (0.8, 0.9, 2, 0),
        (1.0, 1.0, 9, 1),
    ]
    assert [each.share for each in found] == [0.0, 0.857, 1.0, 0.9]
    assert found[-1].interval == (0.636, 0.967)
    assert calibrate([]) == ()
