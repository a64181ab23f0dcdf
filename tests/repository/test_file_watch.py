"""The changes that the watch of a database file detects, and those that are not faults."""

import math
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamplighter.repository.store import driver
from lamplighter.repository.store.file_watch import FileWatch

PAGE = 4_096


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[FileWatch]:
    """Yield the watch of a file with checked pages; the next check is not due for a long time."""
    path = tmp_path / "lamplighter.db"
    with closing(driver.connect(str(path), create=True)) as writing:
        writing.execute("CREATE TABLE words (text TEXT)")
        writing.execute("INSERT INTO words VALUES (zeroblob(200000))")
    watch = FileWatch(path)
    watch.open()
    watch.look()
    rest(watch)
    yield watch
    watch.close()


def rest(watch: FileWatch) -> None:
    """Postpone the next check until there is a reason for it, as after a slow check."""
    watch._next_check, watch._took = math.inf, 0.0


def write(watch: FileWatch, *statements: str) -> None:
    with closing(driver.connect(str(watch.path))) as writing:
        for statement in statements:
            writing.execute(statement)


def damage(watch: FileWatch, *, at: int = 4, unseen: bool = False) -> None:
    """Overwrite a page, like another program, or `unseen` like a failing disk."""
    before = watch.path.stat()
    with watch.path.open("r+b") as file:
        file.seek(at * PAGE)
        file.write(b"\xff" * PAGE)
    if unseen:
        os.utime(watch.path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_change_outside_of_sqlite_is_checked_immediately(watched: FileWatch) -> None:
    write(watched, "INSERT INTO words VALUES ('in the log only')")
    watched.look()
    damage(watched)
    watched.look()

    assert "is damaged" in watched.problem
    with pytest.raises(driver.UnsoundDatabase, match="is damaged"):
        watched.guard()


@pytest.mark.parametrize("mode", ["PASSIVE", "TRUNCATE"])
def test_checkpoint_of_sqlite_is_not_checked_immediately(watched: FileWatch, mode: str) -> None:
    checked = watched._checked
    for number in range(2):
        write(watched, f"INSERT INTO words VALUES ({number})", f"PRAGMA wal_checkpoint({mode})")
        watched.look()

    assert watched._checked == checked
    damage(watched)
    watched.look()
    assert "is damaged" in watched.problem


def test_truncated_wal_is_reported(watched: FileWatch) -> None:
    write(watched, *(f"INSERT INTO words VALUES ('{'x' * 4_000}{number}')" for number in range(9)))
    watched.look()
    assert watched.problem == ""
    os.truncate(f"{watched.path}-wal", 3 * PAGE)
    watched.look()

    assert "its write-ahead log was truncated" in watched.problem


def test_wal_that_grows_during_the_check_is_not_reported_as_truncated(
    watched: FileWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = watched._written

    def overtaken() -> tuple[int, int] | None:
        before = stat()
        write(watched, "INSERT INTO words VALUES (zeroblob(20000))")
        return before

    monkeypatch.setattr(watched, "_written", overtaken)
    watched.look()

    assert watched.problem == ""
    watched.guard()


def test_longer_wal_after_a_reset_counts_as_a_checkpoint(watched: FileWatch) -> None:
    write(watched, "INSERT INTO words VALUES (zeroblob(20000))")
    watched.look()
    checked = watched._checked
    big = "INSERT INTO words VALUES (zeroblob(900000))"
    write(watched, big, "PRAGMA wal_checkpoint(TRUNCATE)", big)
    watched.look()

    assert watched._checked == checked


def test_file_watch_doubles_its_patience_after_a_check_without_damage(
    watched: FileWatch,
) -> None:
    checked, patience = watched._checked, watched._patience
    os.utime(watched.path)  # as in the middle of a checkpoint: the log does not state it yet
    watched.look()

    assert watched._checked > checked
    assert watched._patience == 2 * patience
    damage(watched)
    watched.look()
    assert "is damaged" in watched.problem


def test_doubt_makes_every_process_check_the_pages_once(
    watched: FileWatch,
) -> None:
    other = FileWatch(watched.path)
    other.open()
    other.look()
    rest(other)
    damage(watched, unseen=True)
    for each in (watched, other):
        each.look()
        assert each.problem == ""
    watched.doubt()
    for each in (watched, other):
        each.look()
        assert "is damaged" in each.problem
    other.close()
    watched.look()
    checked = watched._checked
    watched.doubt()  # what is known is not checked again
    watched.look()
    assert watched._checked == checked


def test_repeated_doubt_checks_the_pages_once(watched: FileWatch) -> None:
    watched.doubt()
    watched.look()
    checked = watched._checked
    watched.doubt()
    watched.look()

    assert watched.problem == ""
    assert watched._checked == checked


def test_process_that_ends_during_open_does_not_affect_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lamplighter.db"
    other = driver.connect(str(path), create=True)
    other.execute("CREATE TABLE words (text TEXT)")
    assert path.with_name("lamplighter.db-wal").exists()
    watch = FileWatch(path)
    connect = driver.connect

    def at_the_worst_moment(*given: Any, **more: Any) -> driver.Connection:
        other.close()  # the last connection removes the log
        for number in range(4):  # its inodes go to others
            (tmp_path / f"other-{number}").touch()
        return connect(*given, **more)

    monkeypatch.setattr(driver, "connect", at_the_worst_moment)
    watch.open()
    monkeypatch.undo()
    again = driver.connect(str(path))
    again.execute("INSERT INTO words VALUES ('kept')")
    watch.look()

    assert watch.problem == ""
    watch.guard()
    again.close()
    watch.close()


async def test_watch_closes_without_error_while_a_check_ends(migrated: Path) -> None:
    watch = FileWatch(migrated)
    ended = driver.connect(str(migrated))
    ended.close()
    async with watch.followed():
        watch._checking = ended
    watch.close()
