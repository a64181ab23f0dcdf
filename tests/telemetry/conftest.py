"""What the tests of telemetry share."""

from collections.abc import Iterator

import pytest
from collected import Collected

from lamplighter.telemetry import traces


@pytest.fixture
def collected() -> Iterator[Collected]:
    yield Collected()
    assert traces._tracer is None
