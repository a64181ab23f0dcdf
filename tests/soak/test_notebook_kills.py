"""The long form of tests/faults/test_notebook_kill.py: 500 kills, and 500 saves of an editor."""

from pathlib import Path

from notebook_kills import run_kills

KILLS, SEED = 500, 20_261_125


def test_five_hundred_killed_runs(tmp_path: Path) -> None:
    run_kills(KILLS, SEED, str(tmp_path))
