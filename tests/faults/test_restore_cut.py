"""PostgreSQL stops at the end of a restore: the message, and what the next command does."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import direct_writes
from living import Home
from lost_answers import losing
from postgres_server import PostgresServer

MEMORIES = "SELECT observation FROM memories ORDER BY id"


@pytest.fixture
def mortal() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that this test may stop."""
    started = PostgresServer()
    yield started
    started.remove()


async def test_a_restore_without_an_answer_is_settled_by_the_next_command(
    mortal: PostgresServer, tmp_path: Path
) -> None:
    direct = mortal.create("lamplighter")
    home = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": direct})
    assert home.ask("memory", "add", "timing", "web takes 60 s to start").returncode == 0
    backup = home.ask("backup").stdout.strip()
    assert home.ask("memory", "add", "timing", "db takes 5 s to start").returncode == 0
    before = direct_writes.run(direct, MEMORIES)

    def stops() -> bool:
        mortal.stop(signal.SIGQUIT)
        return True

    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with losing(direct, Path(there), stops) as url:
            home.more["LAMPLIGHTER_DATABASE_URL"] = url
            done = await asyncio.to_thread(home.ask, "restore", "--replace", backup)
    home.more["LAMPLIGHTER_DATABASE_URL"] = direct
    mortal.start()

    assert done.returncode == 2
    assert "was interrupted: " in done.stderr
    assert done.stderr.endswith("that starts completes or undoes the restore.\n")
    assert direct_writes.run(direct, MEMORIES) == before
    again = home.ask("restore", "--replace", backup)
    assert again.returncode == 0, again.stderr
    assert "Undid the interrupted restore of this home." in again.stderr
    assert direct_writes.run(direct, MEMORIES) == before[:1]
