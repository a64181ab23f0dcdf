"""The doctor on a broken home: each problem has its message and advice, and none crashes it."""

import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from homes import Home
from staged import SmallDisk

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.file_watch import REPAIR
from lamplighter.repository.upkeep import migrate
from lamplighter.serve.local import run_directory

FIXED = (3, 51, 3)


def looked(home: Home) -> tuple[int, dict[str, str]]:
    """Return the doctor's exit status, and each bad finding with its advice."""
    done = home.run("doctor")
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    bad = {
        line.removeprefix("BAD  "): lines[number + 1].strip()
        for number, line in enumerate(lines)
        if line.startswith("BAD  ")
    }
    warned = [line for line in lines if line.startswith("WARN ")]
    judged = [line for line in lines if line[:4] in ("ok  ", "BAD ", "WARN")]
    assert len(lines) == len(judged) + len(bad) + len(warned)
    return done.returncode, bad


def only(found: tuple[int, dict[str, str]]) -> tuple[str, str]:
    """Return the only bad finding."""
    status, bad = found
    assert (status, len(bad)) == (1, 1), bad
    return next(iter(bad.items()))


@pytest.fixture
def sound(home: Home) -> Home:
    """Return a home after a session, with its own runtime directory."""
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    assert home.run("run").returncode == 0
    home.env["LAMPLIGHTER_ENGINE"] = "probe"
    return home


@contextmanager
def held(home: Home, how: str) -> Iterator[None]:
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as other:
        other.execute(how)
        yield
        other.execute("ROLLBACK")


def test_a_database_of_an_earlier_version_is_healthy(home: Home) -> None:
    path = home.path / "lamplighter.db"
    path.unlink(missing_ok=True)
    migrate.upgrade(sqlite_url(path), target="0033")

    done = home.run("doctor")

    newest = migrate.newest_revision()
    assert f"healthy, revision 0033; the next start migrates it to {newest}" in done.stdout
    assert "BAD" not in done.stdout
    assert done.returncode == 0


def test_a_memory_service_that_does_not_respond_is_reported(sound: Home) -> None:
    (sound.path / "lamplighter.toml").write_text(
        "[agents.away]\nmemory_url = 'http://127.0.0.1:9'\n[agents.here]\n"
    )

    words, advice = only(looked(sound))

    assert words.startswith(
        "Agent away uses the memory service at http://127.0.0.1:9, over MCP only"
    )
    assert words.endswith("; the service does not answer")
    assert advice == "Start that service, or correct memory_url in lamplighter.toml."


def test_a_web_process_that_does_not_answer_is_reported(sound: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sound.env["LAMPLIGHTER_PORT"] = str(server.getsockname()[1])

        words, advice = only(looked(sound))

    assert words.endswith(f":{sound.env['LAMPLIGHTER_PORT']} does not answer")
    assert advice.startswith("Restart the web process if it hangs.")


def test_a_healthy_home_has_no_findings(sound: Home) -> None:
    before = sound.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")

    assert looked(sound) == (0, {})

    assert sound.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name") == before


@pytest.mark.parametrize("name", [".", "services.yaml", "lamplighter.toml"])
def test_a_world_writable_file_is_reported(sound: Home, name: str) -> None:
    path = sound.path / name
    path.touch()
    mode = path.stat().st_mode
    path.chmod(mode | 0o002)

    status, bad = looked(sound)

    path.chmod(mode)
    assert status == 1
    assert set(bad.values()) == {
        f"The file defines commands that run as this user. Run: chmod o-w {path.resolve()}"
    }
    assert looked(sound) == (0, {})


def test_a_link_into_a_world_writable_directory_is_reported(sound: Home, tmp_path: Path) -> None:
    everyones = tmp_path / "everyones"
    (everyones / "mine").mkdir(parents=True)
    link, file = sound.path / "services.yaml", everyones / "mine" / "services.yaml"
    file.write_bytes(link.read_bytes())
    link.unlink()
    link.symlink_to(file)
    everyones.chmod(0o777)

    status, bad = looked(sound)

    assert status == 1
    assert [each.rpartition("chmod o-w ")[2] for each in bad.values()] == [str(everyones)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs as root")
def test_running_as_root_is_a_warning(sound: Home) -> None:
    told = sound.run("doctor").stdout

    assert "WARN Lamplighter runs as root" in told


def test_a_home_that_does_not_exist_yet_has_no_findings(home: Home, tmp_path: Path) -> None:
    home.env["LAMPLIGHTER_HOME"] = str(tmp_path / "not" / "yet")

    assert looked(home) == (0, {})

    assert not (tmp_path / "not").exists()


def test_a_database_with_damaged_pages_is_reported(sound: Home) -> None:
    path = sound.path / "lamplighter.db"
    sound.value("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 20] = b"\xff" * (4096 * 17)
    path.write_bytes(content)

    text, advice = only(looked(sound))

    assert text.startswith(f"Database {path}: ")
    assert advice == REPAIR


def test_a_file_that_is_not_a_database_is_reported(sound: Home) -> None:
    path = sound.path / "lamplighter.db"
    for each in sound.path.glob("lamplighter.db*"):
        each.unlink()
    path.write_text("this is a letter, not a database\n" * 200)

    assert only(looked(sound)) == (
        f"Database {path}: file is not a database",
        REPAIR,
    )


def test_a_database_of_a_newer_version_is_reported(sound: Home) -> None:
    path = sound.path / "lamplighter.db"
    with closing(driver.connect(str(path))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    assert only(looked(sound)) == (
        f"Database {path}: revision 9999 is newer than this version",
        "Start the Lamplighter version that migrated the database, or a newer one.",
    )


def test_a_database_locked_by_another_program_is_reported(sound: Home) -> None:
    with held(sound, "BEGIN IMMEDIATE"):
        text, advice = only(looked(sound))

    assert text == "The database is locked by another program"
    assert "fuser" in advice
    assert looked(sound) == (0, {})


def test_a_full_disk_is_reported(disk: SmallDisk, small_home: Home) -> None:
    assert small_home.run("migrate").returncode == 0
    disk.fill()

    status, bad = looked(small_home)

    assert status == 1
    assert bad["0 MB free on the disk of the home"].startswith("Free some space.")
    # a database that nobody has open needs a little space to be read, too
    assert [text.rpartition(": ")[2] for text in bad] == [
        "0 MB free on the disk of the home",
        "disk I/O error",
    ]


def test_a_services_file_with_a_mistake_is_reported(sound: Home) -> None:
    (sound.path / "services.yaml").write_text("services:\n  web:\n    checks: 5\n")

    text, advice = only(looked(sound))

    assert text.startswith(f"{sound.path}/services.yaml:3:")
    assert advice == f"Fix {sound.path}/services.yaml."


def test_a_missing_program_of_an_action_is_reported(sound: Home) -> None:
    (sound.path / "services.yaml").write_text(
        "services:\n  web:\n    checks: [{tcp: '127.0.0.1:9'}]\n"
        "    actions:\n      - restart: [no-such-program, web]\n"
    )

    assert only(looked(sound)) == (
        "web: action restart runs 'no-such-program', which was not found",
        f"Install it, or correct {sound.path}/services.yaml.",
    )


def test_an_engine_without_its_program_is_reported(sound: Home) -> None:
    sound.env |= {"LAMPLIGHTER_ENGINE": "exec", "LAMPLIGHTER_EXEC_COMMAND": "no-such-program"}

    text, advice = only(looked(sound))

    assert (text, "no-such-program" in advice) == ("Engine exec", True)


@pytest.mark.parametrize("other", ["a link", "a file", "another owner"])
def test_a_run_directory_that_is_a_link_file_or_foreign_is_reported(
    sound: Home, other: str, tmp_path: Path
) -> None:
    directory = run_directory(sound.path)
    for each in directory.iterdir():
        each.unlink()
    directory.rmdir()
    makes: dict[str, Callable[[], object]] = {
        "a link": lambda: directory.symlink_to(tmp_path),
        "a file": directory.touch,
        "another owner": directory.mkdir,
    }
    makes[other]()
    try:
        if other == "another owner":
            if os.getuid() != 0:
                pytest.skip("only root gives a directory to somebody else")
            os.chown(directory, 65_534, 65_534)
        text, advice = only(looked(sound))
        refused = sound.run("web")
    finally:
        directory.rmdir() if other == "another owner" else directory.unlink()

    assert text.startswith(f"Sockets: {directory} belongs to another user; remove it")
    assert "notify each other" in advice
    assert (refused.returncode, "belongs to another user" in refused.stderr) == (2, True)


def test_a_missing_run_directory_is_created_at_the_next_start(sound: Home) -> None:
    directory = run_directory(sound.path)
    for each in directory.iterdir():
        each.unlink()
    directory.rmdir()

    assert looked(sound) == (0, {})
    assert not directory.exists()
    assert sound.run("run").returncode == 0
    assert directory.is_dir()


def test_an_unreadable_session_file_is_reported(sound: Home) -> None:
    path = sound.path / "sessions" / "7.jsonl"
    path.mkdir()  # root may read any file, but nobody a directory

    assert only(looked(sound)) == (
        f"{path} cannot be read: Is a directory",
        "Make the file readable for this user. A running session needs its file.",
    )


def test_a_file_in_place_of_the_sessions_directory_is_reported(home: Home) -> None:
    (home.path / "sessions").write_text("")

    text, advice = only(looked(home))

    assert text == f"{home.path}/sessions is not writable"
    assert "Make the path a directory" in advice


def test_a_clock_that_is_behind_is_reported(sound: Home) -> None:
    later = datetime.now(UTC) + timedelta(days=40)
    with closing(driver.connect(str(sound.path / "lamplighter.db"))) as connection:
        connection.execute("UPDATE changes SET at = ?", (f"{later:%Y-%m-%dT%H:%M:%S.%fZ}",))

    text, advice = only(looked(sound))

    assert text.startswith("The clock shows ")
    assert text.endswith(f"the newest row {later:%Y-%m-%d %H:%M}")
    assert advice == "Correct the clock. Memories do not decay until then."


def test_an_old_sqlite_version_is_reported(sound: Home, tmp_path: Path) -> None:
    if sqlite3.sqlite_version_info >= FIXED:
        pytest.skip("this Python's own SQLite is a mended one")
    away = tmp_path / "away"
    away.mkdir()
    (away / "pysqlite3.py").write_text("raise ImportError\n")
    sound.env["PYTHONPATH"] = str(away)

    text, advice = only(looked(sound))

    assert text == f"SQLite {sqlite3.sqlite_version}"
    assert "pysqlite3" in advice


def test_a_check_that_fails_itself_is_reported(sound: Home, tmp_path: Path) -> None:
    changed = "UPDATE changes SET at = 'yesterday'"
    with closing(driver.connect(str(sound.path / "lamplighter.db"))) as connection:
        connection.execute(changed)

    text, advice = only(looked(sound))

    assert text.startswith("The check of database failed: ValueError: ")
    assert "report a bug" in advice


def test_several_problems_are_all_reported(disk: SmallDisk, small_home: Home) -> None:
    (small_home.path / "sessions").write_text("")
    (small_home.path / "lamplighter.db").write_bytes(b"x" * 5_000)
    (small_home.path / "services.yaml").write_text("services: 5\n")
    disk.fill()

    status, bad = looked(small_home)

    assert (status, len(bad)) == (1, 4), bad


def test_a_read_only_home_is_reported(disk: SmallDisk, small_home: Home) -> None:
    assert small_home.run("migrate").returncode == 0
    disk.read_only(on=True)
    try:
        status, bad = looked(small_home)
    finally:
        disk.read_only(on=False)

    assert status == 1
    assert f"Home {small_home.path}" in bad


def test_an_unreadable_row_is_reported(sound: Home) -> None:
    sound.value("UPDATE memories SET updated_at = 'yesterday'")

    text, advice = only(looked(sound))

    assert text == "Memory 1 cannot be read: its updated_at is 'yesterday', not a moment."
    assert advice == "Fix the row in the database, or delete it. The row is skipped."
