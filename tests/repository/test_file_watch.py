"""What becomes of a database's log while it is opened is no fault of the file."""

from pathlib import Path
from typing import Any

import pytest

from lamplighter.repository.store import driver
from lamplighter.repository.store.file_watch import FileWatch


def test_another_process_that_ends_while_the_file_is_opened_takes_nothing_away(
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


async def test_a_check_that_ends_at_the_same_moment_ends_quietly(migrated: Path) -> None:
    watch = FileWatch(migrated)
    ended = driver.connect(str(migrated))
    ended.close()
    async with watch.followed():
        watch._checking = ended
    watch.close()
