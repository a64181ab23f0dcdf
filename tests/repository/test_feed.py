"""How one process detects commits of another."""

import asyncio
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from gates import until

from lamplighter.domain.errors import Unavailable
from lamplighter.repository import Database, writing
from lamplighter.repository.feed import signals
from lamplighter.repository.feed.signals import ChangeNotifier, FileWrites, Listener
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, sqlite_url
from lamplighter.serve.local import run_directory

COMMIT = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from lamplighter.domain.change import ChangeOp
from lamplighter.repository import Database, writing
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.feed.signals import ChangeNotifier

async def main():
    announce = ChangeNotifier(Path(sys.argv[2])) if sys.argv[2] else (lambda: None)
    async with Database(sys.argv[1], announce=announce) as db:
        async with writing(db):
            now = datetime(2026, 1, 1, tzinfo=UTC)
            await changes.append(db, "memory", 1, ChangeOp.CREATED, now=now)

asyncio.run(main())
"""


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a short directory for sockets, for a home of this test alone."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    directory = run_directory(tmp_path)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a short runtime directory of this test alone."""
    path = Path(f"/tmp/lr-{os.getpid()}")
    path.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    yield path
    shutil.rmtree(path)


async def test_commit_of_another_process_wakes_the_listener_by_datagram(
    sqlite: str,
    migrated: Path,
    sockets: Path,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    # the file it looks at never changes: nothing but the datagram can wake it
    async with Listener(sqlite_url(migrated), sockets) as listener:
        spawn(COMMIT, sqlite, str(sockets))

        assert await listener.wait(30)


async def test_commit_with_a_lost_datagram_wakes_the_listener_once(
    sqlite: str,
    sockets: Path,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    async with Listener(sqlite, sockets) as listener:
        for name in os.listdir(sockets):
            os.unlink(sockets / name)
        spawn(COMMIT, sqlite, str(sockets))

        assert await listener.wait(30)
        assert not await listener.wait(0.6)


async def test_commit_without_a_datagram_wakes_the_listener(
    sqlite: str,
    sockets: Path,
    spawn,  # type: ignore[no-untyped-def]
) -> None:
    async with Listener(sqlite, sockets) as listener:
        spawn(COMMIT, sqlite, "")

        assert await listener.wait(30)


async def test_wait_ends_if_cancelled_while_the_listener_is_woken(
    sqlite: str, sockets: Path
) -> None:
    async with Listener(sqlite, sockets) as listener:
        for steps in range(8):
            task = asyncio.create_task(listener.wait(60))
            await asyncio.sleep(0.01)
            listener.wake()
            for _ in range(steps):
                await asyncio.sleep(0)
            cancelled = task.cancel()
            await asyncio.wait({task})

            assert task.cancelled() is cancelled, steps


async def test_listener_does_not_wake_without_changes(sqlite: str, sockets: Path) -> None:
    async with Listener(sqlite, sockets) as listener:
        assert not await listener.wait(0.6)


@pytest.fixture
def other(sqlite: str) -> Iterator[driver.Connection]:
    """Return the connection of another program, which sends no datagram."""
    with closing(driver.connect(str(file_of(sqlite)))) as connection:
        connection.execute("SELECT count(*) FROM links").fetchone()
        yield connection


def commit(connection: driver.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO links VALUES (NULL, 1, 1, 'x', NULL, 'x', NULL)")
    connection.execute("COMMIT")


async def test_idle_listener_reads_nothing_and_wakes_for_each_commit(
    sqlite: str, sockets: Path, other: driver.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    version = Listener.version
    monkeypatch.setattr(Listener, "version", lambda self: (reads.append(1), version(self))[1])
    monkeypatch.setattr(signals, "QUIET_POLL_SECONDS", 600.0)
    async with Listener(sqlite, sockets) as listener:
        reads.clear()
        assert not await listener.wait(0.8)
        assert len(reads) <= 1
        for _ in range(3):
            commit(other)
            assert await listener.wait(60)


async def test_file_write_is_polled_for_a_later_commit(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    log = tmp_path / "a.db-wal"
    log.touch()
    looks: list[int] = []
    writes = FileWrites(str(tmp_path / "a.db"), lambda: looks.append(1))
    assert writes.open()
    try:
        log.write_text("x")
        await until(lambda: len(looks) == 5)
        await asyncio.sleep(0.4)
        assert len(looks) == 5

        log.write_text("xy")
        await until(lambda: len(looks) == 6)
    finally:
        writes.close()


async def test_listener_polls_without_inotify(
    sqlite: str, sockets: Path, other: driver.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise OSError("too many watches")

    monkeypatch.setattr("asyncinotify.Inotify.add_watch", none_left)
    monkeypatch.setattr(signals, "QUIET_POLL_SECONDS", 600.0)
    async with Listener(sqlite, sockets) as listener:
        commit(other)

        assert await listener.wait(60)


async def test_commit_of_the_same_process_wakes_the_listener(sqlite: str, sockets: Path) -> None:
    async with Listener(sqlite, sockets) as listener, Database(sqlite) as db:
        async with writing(db):
            await db.execute("INSERT INTO links VALUES (1, 1, 1, 'x', NULL, 'x', NULL)")

        assert await listener.wait(30)


async def test_wake_before_wait_is_not_lost(sqlite: str, sockets: Path) -> None:
    async with Listener(sqlite, sockets) as listener:
        listener.wake()
        assert await listener.wait(0.5)
        assert not await listener.wait(0.1)


async def test_notifier_wakes_every_listener_of_a_home(sqlite: str, sockets: Path) -> None:
    async with Listener(sqlite, sockets) as one, Listener(sqlite, sockets) as two:
        announcer = ChangeNotifier(sockets)
        announcer()
        announcer.close()

        assert await asyncio.gather(one.wait(10), two.wait(10)) == [True, True]


async def test_listener_removes_its_socket_on_close(sqlite: str, sockets: Path) -> None:
    async with Listener(sqlite, sockets):
        assert len(os.listdir(sockets)) == 1

    assert os.listdir(sockets) == []


def test_notifier_removes_the_socket_of_a_dead_listener(sockets: Path) -> None:
    dead = sockets / "feed-1-dead.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(dead))
    announcer = ChangeNotifier(sockets)

    announcer()

    assert list(sockets.iterdir()) == []
    announcer.close()


def test_listener_that_never_reads_does_not_block_the_notifier(sockets: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(sockets / "feed-1-deaf.sock"))
        announcer = ChangeNotifier(sockets)
        for _ in range(5_000):
            announcer()
        announcer.close()

    assert (sockets / "feed-1-deaf.sock").exists()


@pytest.mark.parametrize("spoiled", ["missing", "a file"])
def test_notifier_ignores_a_missing_run_directory(tmp_path: Path, spoiled: str) -> None:
    directory = tmp_path / "run"
    if spoiled == "a file":
        directory.write_text("")
    announcer = ChangeNotifier(directory)

    announcer()

    announcer.close()


def test_run_directory_is_private_and_unique_per_home(tmp_path: Path, base: Path) -> None:
    directory = run_directory(tmp_path / "home")
    again = run_directory(tmp_path / "other" / ".." / "home")
    other = run_directory(tmp_path / "other")

    assert directory == again != other
    assert directory.parent == base
    assert directory.stat().st_mode & 0o777 == 0o700
    directory.chmod(0o755)
    assert run_directory(tmp_path / "home").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("length", [20, 32, 33, 60, 90])
async def test_listener_opens_with_a_runtime_directory_of_any_length(
    sqlite: str, tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    long = str(base / "x").ljust(length, "x")
    os.mkdir(long)
    monkeypatch.setenv("XDG_RUNTIME_DIR", long)

    directory = run_directory(tmp_path)

    # the longest process number and address there are
    assert len(str(directory)) + len("/feed-4194304-7fffffffffff.sock") < 104
    async with Listener(sqlite, directory):
        assert len(os.listdir(directory)) == 1
    os.rmdir(directory)


@pytest.mark.usefixtures("base")
def test_symlinked_run_directory_is_refused(tmp_path: Path) -> None:
    directory = run_directory(tmp_path)
    directory.rmdir()
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Unavailable, match="belongs to another user"):
        run_directory(tmp_path)
