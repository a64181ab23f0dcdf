"""A separate home, and a home on a small disk that can be filled or made read-only."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import Home
from staged import SmallDisk, home_at


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Return a home on the disk that all tests use."""
    with home_at(tmp_path / "home") as there:
        yield there


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a small disk; the test is skipped if mounting is not permitted."""
    found = SmallDisk(tmp_path / "disk")
    found.path.mkdir()
    try:
        found.mount()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no small disk can be mounted here: {error}")
    yield found
    found.unmount()


@pytest.fixture
def small_home(disk: SmallDisk, tmp_path: Path) -> Iterator[Home]:
    """Return a home on the small disk; its processes end before the unmount."""
    with home_at(disk.path / "home") as there:
        (there.path / "log").symlink_to(tmp_path / "log")  # what is said must have room
        yield there


@pytest.fixture
def url(sqlite: str) -> str:
    """Return the address of a new SQLite file: after a rollback, SQLite reuses the id."""
    return sqlite
