"""A Messages API with the scenarios of a module, and a gate."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from messages_sessions import Desk, desk

from lamplighter.engines.messages import retries
from messages_api import MessagesApi


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[MessagesApi]:
    with MessagesApi(request.module.SCENARIOS) as api:
        yield api


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path) as here:
        yield here


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)
