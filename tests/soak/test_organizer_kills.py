"""The long form of tests/faults/test_organizer_kill.py: 200 kills at random moments."""

from pathlib import Path

import pytest

from lamplighter.repository.store.database import sqlite_url
from organizer_kills import fill_database, kill_runs, run_once, state_of, undo_run

EPISODES, KILLS, SEED = 620, 200, 20_261_125


@pytest.mark.parametrize("longest", [0.05, 0.3, 1.0])
def test_killed_organizer_runs_reach_the_state_of_an_uninterrupted_run(
    url: str, sqlite: str, tmp_path: Path, longest: float
) -> None:
    whole = sqlite_url(tmp_path / "whole.db")
    (tmp_path / "whole.db").write_bytes(Path(sqlite.removeprefix("sqlite:///")).read_bytes())
    for each in (url, whole):
        fill_database(each, EPISODES)
    run_once(whole)

    memories, counts = state_of(whole)

    killed, rounds = kill_runs(url, KILLS, SEED, longest=longest), 1
    while killed < KILLS:
        assert state_of(url) == (memories, counts * rounds)
        undo_run(url)
        killed += kill_runs(url, KILLS - killed, SEED + rounds, longest=longest)
        rounds += 1

    assert killed >= KILLS
    assert state_of(url) == (memories, counts * rounds)
