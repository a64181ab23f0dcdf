"""Real supervisor processes, each with a separate home."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import NO_SERVICES, Home

from living import KEPT, free_port, give_database


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "home"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    give_database(path)
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"LAMPLIGHTER_HOME": str(path), "LAMPLIGHTER_INTERVAL": "1h"}
    env["LAMPLIGHTER_PORT"] = str(free_port())  # the usual one may be in use on this machine
    env["LAMPLIGHTER_CHECK_INTERVAL"] = "0"  # tests count sessions; those of checks turn it on
    env["LAMPLIGHTER_VECTORS"] = "off"  # the model takes a second and 200 MB of each process
    there = Home(path, env)
    yield there
    for process in there.started:
        process.kill()
        process.wait()
    assert there.until(lambda: not there.left_over())


@pytest.fixture
def url(sqlite: str) -> str:
    """Return the address of a new SQLite file: these tests are about processes."""
    return sqlite


@pytest.fixture
def kept(home: Home, postgres_url: str) -> Home:
    """Return a home with its rows in PostgreSQL."""
    (home.path / "lamplighter.db").unlink()
    home.env["LAMPLIGHTER_DATABASE_URL"] = postgres_url
    return home
