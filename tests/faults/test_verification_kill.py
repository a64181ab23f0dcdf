"""kill -9 of a verification: no verdict is lost, no review is opened twice."""

from pathlib import Path

import pytest

from lamplighter.repository.store.database import sqlite_url
from thorough import examples
from verification_kills import fill_database, kill_verifications, state_of

MEMORIES, SEED = 120, 36


@pytest.mark.timeout(300)
def test_a_killed_verification_is_continued_with_the_same_result(
    url: str, sqlite: str, tmp_path: Path
) -> None:
    whole = sqlite_url(tmp_path / "whole.db")
    (tmp_path / "whole.db").write_bytes(Path(sqlite.removeprefix("sqlite:///")).read_bytes())
    for each in (url, whole):
        fill_database(each, MEMORIES)
    kill_verifications(whole, 0, 0, 0)

    killed = kill_verifications(url, examples(5), SEED, longest=0.5)

    assert killed > 0, "no verification was killed at work: the test shows nothing"
    assert state_of(url) == state_of(whole)
    memories, reviews, _, verified = state_of(url)
    assert sum(memories.values()) == MEMORIES
    assert 0 < sum(reviews.values()) < sum(verified.values()) == MEMORIES
