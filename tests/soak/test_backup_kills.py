"""The long form of tests/faults/test_backup_kill.py: hundreds of kills at random moments."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from homes import NO_SERVICES, Home

from backup_kills import kill_backups, kill_restores, two_backups
from lamplighter.repository.store.database import sqlite_url

KILLS, SEED = 300, 20_261_123
LINES = ("numbered", "200", "0")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Return a home for real processes."""
    path = tmp_path / "home"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    env = {"PATH": "/usr/bin:/bin", "LAMPLIGHTER_HOME": str(path), "LAMPLIGHTER_VECTORS": "off"}
    there = Home(path, env)
    yield there
    for process in there.started:
        process.kill()
        process.wait()


def test_hundreds_of_backups_killed_under_write_load(home: Home) -> None:
    home.engine("numbered", "1000000", "0.002")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) > 100 FROM markers"))

    kill_backups(home, random.Random(SEED), KILLS)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_hundreds_of_killed_restores(
    kind: str, home: Home, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = sqlite_url(home.path / "lamplighter.db")
    if kind == "postgresql":
        url = home.env["LAMPLIGHTER_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    home.engine(*LINES)
    old, new = two_backups(home, tmp_path / "kept")

    kill_restores(home, url, old, new, KILLS, SEED)
