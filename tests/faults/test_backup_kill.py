"""kill -9 of a backup leaves no partial backup; of a restore, the old home or the new one."""

import random
from pathlib import Path

import pytest
from homes import Home

from backup_kills import kill_backups, kill_restores, two_backups
from lamplighter.repository.store.database import sqlite_url
from thorough import examples

SEED = 2026
KILLS = examples(16)
LINES = ("lines", "[MEMORY:timing:web] Takes 60s to start", "[EVENT:info] Looked")


@pytest.mark.timeout(300)
def test_a_killed_backup_is_never_mistaken_for_a_complete_one(home: Home) -> None:
    home.engine(*LINES)
    assert home.run("run").returncode == 0

    kill_backups(home, random.Random(SEED), KILLS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_killed_restore_leaves_the_old_home_or_the_new_one(
    kind: str, home: Home, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = sqlite_url(home.path / "lamplighter.db")
    if kind == "postgresql":
        url = home.env["LAMPLIGHTER_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    home.engine(*LINES)
    old, new = two_backups(home, tmp_path / "kept")

    kill_restores(home, url, old, new, KILLS, SEED)
