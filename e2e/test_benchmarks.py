"""Every benchmark in a browser runs once in its short form and reports all of its data."""

import pytest

from short_benchmarks import IN_A_BROWSER, assert_complete


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(IN_A_BROWSER))
def test_short_benchmark_reports_all_data(name: str) -> None:
    assert_complete(name)
