"""The long form of tests/faults/test_verification_kill.py: 200 kills at random moments."""

from pathlib import Path

import pytest

from lamplighter.repository.store.database import sqlite_url
from verification_kills import fill_database, kill_verifications, state_of

MEMORIES, KILLS, SEED = 400, 200, 20_261_126


@pytest.mark.parametrize("longest", [0.05, 0.3, 1.0])
def test_killed_verifications_reach_the_state_of_an_uninterrupted_run(
    url: str, sqlite: str, tmp_path: Path, longest: float
) -> None:
    whole = sqlite_url(tmp_path / "whole.db")
    (tmp_path / "whole.db").write_bytes(Path(sqlite.removeprefix("sqlite:///")).read_bytes())
    for each in (url, whole):
        fill_database(each, MEMORIES)
    kill_verifications(whole, 0, 0, 0)

    killed = kill_verifications(url, KILLS, SEED, longest=longest)

    assert killed > 0
    assert state_of(url) == state_of(whole)
