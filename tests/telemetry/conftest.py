"""Fixtures of the telemetry tests."""

from collections.abc import Iterator

import pytest
from collected import Collected

from lamplighter import telemetry


@pytest.fixture
def collected() -> Iterator[Collected]:
    yield Collected()
    assert telemetry._tracer is None
