"""The command line in this process: a separate home, and the log configuration restored."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lamplighter.cli import main

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, migrated: Path) -> Path:
    """Create a home with a new database."""
    path = tmp_path / "home"
    path.mkdir()
    shutil.copy(migrated, path / "lamplighter.db")
    return path


@pytest.fixture
def run(home: Path) -> Iterator[Run]:
    """Run a command of that home to its end."""
    root, ours = logging.getLogger(), logging.getLogger("lamplighter")
    kept = root.handlers[:], root.level, ours.level, os.umask(0)
    os.umask(kept[3])
    root.handlers[:] = []  # what a command replaces it closes too

    def ask(*words: str, given: str | None = None, width: int = 80) -> Result:
        env = {"LAMPLIGHTER_HOME": str(home), "COLUMNS": str(width), "LAMPLIGHTER_VECTORS": "off"}
        return CliRunner().invoke(main, words, input=given, env=env)

    yield ask
    root.handlers[:], root.level = kept[0], kept[1]
    ours.setLevel(kept[2])
    os.umask(kept[3])
