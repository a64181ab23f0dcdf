"""The long form of tests/faults/test_notebook_kill.py: 500 kills, and 500 saves of an editor."""

from pathlib import Path

import pytest

from notebook_kills import POSTGRES, SQLITE, run_kills

KILLS, SEED = 500, 20_261_125


@pytest.mark.parametrize("database", [SQLITE, POSTGRES])
def test_edits_survive_five_hundred_killed_notebook_runs(tmp_path: Path, database: str) -> None:
    printed = run_kills(KILLS, SEED, str(tmp_path), database)

    assert printed.startswith(f"{KILLS} kills and {KILLS} saves at ")
