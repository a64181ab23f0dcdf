"""Real supervisor processes, each with a home of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import NO_SERVICES, Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "home"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    kept = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {"LAMPLIGHTER_HOME": str(path), "LAMPLIGHTER_INTERVAL": "1h"}
    env["LAMPLIGHTER_VECTORS"] = "off"  # the model takes a second and 200 MB of each process
    there = Home(path, env)
    yield there
    for process in there.started:
        process.kill()
        process.wait()
    assert there.until(lambda: not there.left_over())


@pytest.fixture
def url(sqlite: str) -> str:
    """Return the address of a fresh SQLite file: here it is processes that are tested."""
    return sqlite
