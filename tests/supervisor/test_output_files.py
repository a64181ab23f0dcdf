"""Each session has its own output file, even after the database is lost."""

import shutil
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from homes import Home

import direct_writes
from lamplighter import clock
from lamplighter.domain.sessions.session import Home as Identity
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.supervisor.run.files import SessionFiles
from living import free_port
from postgres_server import PostgresServer

SIX = [f"[MEMORY:behavior:svc{number}] Fact number {number}" for number in range(6)]
MARKERS = "SELECT session_id, count(*) FROM markers GROUP BY session_id ORDER BY session_id"


def run(home: Home, times: int) -> None:
    for _ in range(times):
        home.run("run")


def copied(home: Home, path: Path) -> None:
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as connection:
        connection.execute("VACUUM INTO ?", (str(path),))


def put_back(home: Home, path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (home.path / f"lamplighter.db{suffix}").unlink(missing_ok=True)
    shutil.copy(path, home.path / "lamplighter.db")


def begin_with_an_empty_database(home: Home) -> None:
    """Lose the database, and follow the instructions of the refusal at the next start."""
    for path in home.path.glob("lamplighter.db*"):
        path.unlink()
    assert home.run("run").returncode == 2
    (home.path / ".database").unlink(missing_ok=True)
    (home.path / "sessions").rename(home.path / "old")


def test_session_after_a_restore_ingests_only_its_own_output(home: Home, tmp_path: Path) -> None:
    home.engine("lines", *SIX)
    run(home, 3)
    copied(home, tmp_path / "copy.db")
    run(home, 3)
    put_back(home, tmp_path / "copy.db")

    run(home, 2)

    assert home.rows(MARKERS) == [(1, 6), (2, 6), (3, 6), (7, 6), (8, 6)]
    assert len(list((home.path / "sessions").glob("*.jsonl"))) == 8


def test_session_without_result_ignores_the_result_of_an_older_file(
    home: Home, tmp_path: Path
) -> None:
    home.engine("lines", *SIX)
    run(home, 1)
    copied(home, tmp_path / "copy.db")
    run(home, 1)
    put_back(home, tmp_path / "copy.db")
    home.engine("dies")

    run(home, 1)

    [(number, status)] = home.rows("SELECT id, status FROM sessions ORDER BY id DESC LIMIT 1")
    assert (number, status) == (3, "failed")


def test_session_ids_are_not_reused_after_a_lost_database(home: Home) -> None:
    home.engine("lines", *SIX)
    run(home, 2)
    begin_with_an_empty_database(home)

    run(home, 1)

    assert home.rows(MARKERS) == [(3, 6)]


def old_home(home: Home) -> None:
    """Turn the home into that of an earlier version, whose session 7 printed a line."""
    url = sqlite_url(home.path / "lamplighter.db")
    (home.path / "lamplighter.db").unlink()
    migrate.upgrade(url, target="0028")
    direct_writes.run(
        url,
        "INSERT INTO sessions (id, status, started_at, ended_at, log_offset)"
        " VALUES (7, 'completed', '2026-01-01T12:00:00.000000Z', '2026-01-01T12:01:00.000000Z', 9)",
    )
    (home.path / "sessions").mkdir()
    (home.path / "sessions" / "7.jsonl").write_text("an old line\n")


def test_upgraded_home_shows_the_logs_of_old_sessions(home: Home) -> None:
    old_home(home)
    home.env["LAMPLIGHTER_PORT"] = str(free_port())
    home.start("web")
    home.until(lambda: "Listening on" in (home.path / "log").read_text() and home.way_in())

    url = f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}/api/v1/sessions/7/log?form=raw"
    log = httpx2.get(url, headers=home.way_in()).json()

    assert [each["text"] for each in log["items"]] == ["an old line"]


def test_session_ids_of_old_files_are_not_reused_after_a_lost_database(
    home: Home,
) -> None:
    old_home(home)
    begin_with_an_empty_database(home)
    home.engine("lines", *SIX)

    run(home, 1)

    assert home.rows(MARKERS) == [(8, 6)]


async def test_existing_output_file_is_never_reused_for_a_session(
    db: Database, tmp_path: Path
) -> None:
    db.home = Identity("a1b2", "nas:/srv/lamplighter")
    async with writing(db):
        opened = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=clock.now())
    files = SessionFiles(tmp_path / "sessions")

    path = files.create(opened)

    assert path.name == f"1-a1b2-{opened.uid}.jsonl"
    assert opened.host == "nas:/srv/lamplighter"
    with pytest.raises(FileExistsError):
        files.create(opened)
    files.create(replace(opened, uid="another"))


def test_session_ids_on_postgresql_have_no_gap_after_a_server_crash(home: Home) -> None:
    server = PostgresServer({"fsync": "on", "synchronous_commit": "on"})
    try:
        url = home.env["LAMPLIGHTER_DATABASE_URL"] = server.create("kept")
        home.engine("lines", *SIX)
        run(home, 2)
        server.stop(signal.SIGQUIT)
        server.start()

        run(home, 2)

        assert direct_writes.run(url, MARKERS) == [(1, 6), (2, 6), (3, 6), (4, 6)]
    finally:
        server.remove()
