"""The figures of the memory's health against their goals, and the drift score."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.health.figures import (
    DriftCounts,
    MemoryFigures,
    figures_from,
    is_measurement_due,
    opens_cycle,
)
from lamplighter.domain.health.findings import HealthFinding, judge_figures, worst_state

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
COUNTS = st.integers(0, 10_000)
DRIFTS = st.builds(DriftCounts, corrections=COUNTS, contradictions=COUNTS, agreements=COUNTS)
FIGURES = st.builds(MemoryFigures, **dict.fromkeys(MemoryFigures.__dataclass_fields__, COUNTS))


def finding(name: str, **figures: int) -> HealthFinding:
    (found,) = (each for each in judge_figures(MemoryFigures(**figures)) if each.name == name)
    return found


@given(DRIFTS)
def test_disagreement_raises_and_agreement_lowers_the_drift_score(found: DriftCounts) -> None:
    assert 0 <= found.score <= 100
    assert replace(found, corrections=found.corrections + 1).score >= found.score
    assert replace(found, contradictions=found.contradictions + 1).score >= found.score
    assert replace(found, agreements=found.agreements + 1).score <= found.score


@pytest.mark.parametrize(
    ("counts", "score"),
    [((0, 0, 0), 0), ((0, 1, 0), 9), ((1, 0, 0), 17), ((0, 5, 0), 33), ((3, 2, 20), 21)],
)
def test_the_drift_score_is_low_for_few_contradictions(
    counts: tuple[int, int, int], score: int
) -> None:
    corrections, contradictions, agreements = counts
    found = DriftCounts(
        corrections=corrections, contradictions=contradictions, agreements=agreements
    )
    assert found.score == score


@pytest.mark.parametrize(
    ("drift", "last", "opens"),
    [(31, None, True), (30, None, False), (31, NOON - 6 * DAY, False), (31, NOON - 7 * DAY, True)],
)
def test_drift_above_30_opens_a_cycle_once_a_week(
    drift: int, last: datetime | None, opens: bool
) -> None:
    assert opens_cycle(drift, last, now=NOON) is opens


def test_a_measurement_is_due_after_its_interval() -> None:
    assert not is_measurement_due(None, None, now=NOON)
    assert is_measurement_due(None, 7 * DAY, now=NOON)
    assert not is_measurement_due(NOON - 6 * DAY, 7 * DAY, now=NOON)
    assert is_measurement_due(NOON - 7 * DAY, 7 * DAY, now=NOON)


@pytest.mark.parametrize(
    ("name", "figures", "state"),
    [
        ("undistilled", {"undistilled": 799}, "ok"),
        ("undistilled", {"undistilled": 999}, "warning"),
        ("undistilled", {"undistilled": 1000}, "failing"),
        ("ratio", {"undistilled": 99, "distilled": 1}, "ok"),
        ("ratio", {"undistilled": 100, "distilled": 200}, "ok"),
        ("ratio", {"undistilled": 100, "distilled": 100}, "warning"),
        ("ratio", {"undistilled": 102, "distilled": 100}, "failing"),
        ("stale", {"active": 100, "stale": 25}, "ok"),
        ("stale", {"active": 100, "stale": 26}, "warning"),
        ("duplicates", {"undistilled": 9}, "unknown"),
        ("duplicates", {"compared": 110, "duplicates": 0}, "ok"),
        ("duplicates", {"compared": 20, "duplicates": 4}, "ok"),
        ("duplicates", {"compared": 1000, "duplicates": 49}, "warning"),
        ("duplicates", {"compared": 1000, "duplicates": 50}, "failing"),
        ("drift", {"contradictions": 30, "agreements": 60}, "warning"),
        ("drift", {"contradictions": 31, "agreements": 58}, "failing"),
        ("reviews", {"reviews": 19}, "ok"),
        ("reviews", {"reviews": 20, "review_days": 1}, "warning"),
        ("episodes", {"episodes": 500}, "warning"),
        ("unverified", {"unverified": 499, "marked": 1}, "warning"),
    ],
)
def test_each_figure_is_compared_with_its_goal(
    name: str, figures: dict[str, int], state: str
) -> None:
    assert finding(name, **figures).state == state


def test_each_finding_names_the_action_that_helps() -> None:
    assert finding("undistilled", undistilled=897, episodes=800).action == "organize"
    assert finding("undistilled", undistilled=897).action == "unverified"
    assert finding("undistilled").action is None
    assert finding("duplicates", compared=9, duplicates=9, removable=1).action == "organize"
    assert finding("duplicates", compared=9, duplicates=9).action is None
    assert finding("drift", contradictions=9, reviews=1).action == "reviews"
    assert finding("drift", contradictions=9).action == "verify"
    assert finding("undistilled", undistilled=1).text == "1 memory is not distilled"
    assert "0 of 1 memory repeats another one" in finding("duplicates", compared=1).text
    assert "0 of 2 memories repeat another one" in finding("duplicates", compared=2).text
    assert (
        finding("reviews", reviews=2, review_days=1).text == "2 reviews open, the oldest for 1 day"
    )


@given(FIGURES)
def test_all_figures_are_judged(found: MemoryFigures) -> None:
    findings = judge_figures(found)

    assert len({each.name for each in findings}) == 8
    states = {each.state for each in findings}
    assert worst_state(findings) == (
        "failing" if "failing" in states else "warning" if "warning" in states else "ok"
    )


def test_figures_of_earlier_versions_are_read() -> None:
    assert figures_from({"undistilled": 3, "gone": 9}) == MemoryFigures(undistilled=3)
