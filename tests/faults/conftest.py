"""A separate home, and a home on a small disk that can be filled or made read-only."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import Home
from staged import SmallDisk, home_at, mounted


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Return a home on the disk that all tests use."""
    with home_at(tmp_path / "home") as there:
        yield there


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Mount a small disk; the test is skipped if mounting is not permitted."""
    (tmp_path / "disk").mkdir()
    with mounted(tmp_path / "disk") as found:
        yield found


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
