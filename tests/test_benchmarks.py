"""Every benchmark without a browser runs once in its short form and reports all of its data."""

import pytest

from short_benchmarks import WITHOUT_A_BROWSER, assert_complete, empty_figures


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", WITHOUT_A_BROWSER)
def test_short_benchmark_reports_all_data(name: str) -> None:
    assert_complete(name)


@pytest.mark.parametrize(
    ("report", "empty"),
    [
        ({"n": 3, "p50_ms": 1.5, "held": False}, []),
        ({"n": 0, "p50_ms": 1.5}, ["/n"]),
        ({"day": {"p50_ms": None}}, ["/day/p50_ms"]),
        ({"days": [1, float("nan")]}, ["/days/1"]),
    ],
)
def test_missing_figures_are_found(report: object, empty: list[str]) -> None:
    assert list(empty_figures(report)) == empty
