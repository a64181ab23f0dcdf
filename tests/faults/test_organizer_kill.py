"""kill -9 of an organizer run: nothing is lost or done twice, and the next run continues."""

from pathlib import Path

import pytest

from lamplighter.repository.store.database import sqlite_url
from organizer_kills import fill_database, kill_runs, run_once, state_of
from thorough import examples

EPISODES = 620  # the next one is old enough an hour after the others
SEED = 36


@pytest.mark.timeout(300)
def test_a_killed_run_is_continued_with_the_same_result(
    url: str, sqlite: str, tmp_path: Path
) -> None:
    whole = sqlite_url(tmp_path / "whole.db")
    (tmp_path / "whole.db").write_bytes(Path(sqlite.removeprefix("sqlite:///")).read_bytes())
    for each in (url, whole):
        fill_database(each, EPISODES)
    run_once(whole)

    killed = kill_runs(url, examples(6), SEED, longest=0.9)

    assert killed > 0, "no run was killed at work: the test shows nothing"
    assert state_of(url) == state_of(whole)
