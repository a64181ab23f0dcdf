"""Notifications of commits between processes.

After a commit, each listener's socket receives a datagram. Datagrams can be lost, and other
programs send none: `PRAGMA data_version` is the safety net, on a separate connection (the value
does not change for a connection's own writes or within its transaction). It is read for a second
after inotify reports a write to the file or its log, and every 5 s; without inotify, every 250 ms.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres

POLL_SECONDS: Final = 0.25
POLLS: Final = 4
EVENT_BYTES: Final = 64 * 1024


class FileWrites:
    """Calls `callback` when one of the files is written, and for a second after that.

    The log is written before its index, which makes a commit visible: four more reads follow, 250
    ms apart. The next write is reported after those, which limits the cost of a busy writer to that
    of polling.
    """

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        file = os.path.realpath(path)
        self._files, self._callback = (file, f"{file}-wal"), callback
        self._opened = ExitStack()
        self._timer: asyncio.TimerHandle | None = None
        self._number = -1
        self._left = 0

    def open(self) -> bool:
        """Start watching; return whether inotify is available."""
        if sys.platform != "linux":
            return False
        from asyncinotify import Inotify, Mask

        try:
            inotify = self._opened.enter_context(Inotify())
            for file in self._files:
                inotify.add_watch(file, Mask.MODIFY)
        except OSError:  # no log file yet, or no inotify watches left
            self._opened.close()
            return False
        self._loop, self._number = asyncio.get_running_loop(), inotify.fd
        os.set_blocking(self._number, False)
        self._loop.add_reader(self._number, self._written)
        return True

    def close(self) -> None:
        """Stop watching."""
        if self._number >= 0:
            self._loop.remove_reader(self._number)
        if self._timer is not None:
            self._timer.cancel()
        self._opened.close()

    def _written(self) -> None:
        self._loop.remove_reader(self._number)
        self._left = POLLS
        self._poll()

    def _poll(self) -> None:
        if not self._left:
            with suppress(BlockingIOError):
                while True:
                    os.read(self._number, EVENT_BYTES)
            self._loop.add_reader(self._number, self._written)
        self._callback()
        if self._left:
            self._left -= 1
            self._timer = self._loop.call_later(POLL_SECONDS, self._poll)


QUIET_POLL_SECONDS: Final = 5.0
ROWS: Final = {
    "token": "SELECT * FROM tokens WHERE id = ?",
    "login": "SELECT * FROM logins WHERE id = ?",
}


class ChangeSignal(Protocol):
    """A signal that the database may have changed."""

    def version(self) -> int:
        """Return a number that changes with every commit to the database, including ours.

        -1 if no such number exists or it cannot be read.
        """

    def row_of(self, kind: str, number: int) -> tuple[object, ...] | None:
        """Return the current row; None if the row cannot be read without waiting."""

    def wake(self) -> None:
        """Wake the waiting tasks of this process."""

    async def wait(self, seconds: float) -> bool:
        """Wait until the database may have changed; return False on a timeout of `seconds`."""

    async def __aenter__(self) -> "ChangeSignal":
        """Start listening."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""


def create_listener(url: str, directory: Path) -> ChangeSignal:
    """Create the listener for commits of a database; `directory` is the home's socket directory."""
    if is_postgres(url):
        from lamplighter.repository.feed.postgres_signals import PostgresListener

        return PostgresListener(url)
    return Listener(url, directory)


class ChangeNotifier:
    """Notifies all listeners of a home about new changes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def __call__(self) -> None:
        """Notify all listeners; a listener that misses the datagram finds the change by polling."""
        with suppress(OSError):  # must not fail: the commit is already done
            for entry in os.scandir(self._directory):
                if entry.name.startswith("feed-"):
                    self._send(entry.path)

    def _send(self, path: str) -> None:
        try:
            self._socket.sendto(b"look", path)
        except (ConnectionRefusedError, FileNotFoundError):
            with suppress(OSError):  # the listener is dead
                os.unlink(path)
        except OSError:
            return  # its queue is full: it will check anyway

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Listener:
    """A listener that wakes when the database may have changed."""

    def __init__(self, url: str, directory: Path) -> None:
        self._path = str(file_of(url))
        self._address = directory / f"feed-{os.getpid()}-{id(self):x}.sock"
        self._woken = asyncio.Event()
        self._pause = POLL_SECONDS

    async def __aenter__(self) -> "Listener":
        self._connection = driver.connect(self._path, readonly=True)
        self._seen = self.version()
        self._watch = FileWrites(self._path, self._note_commit)
        if self._watch.open():
            self._pause = QUIET_POLL_SECONDS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        with suppress(FileNotFoundError):
            self._address.unlink()
        self._socket.bind(str(self._address))
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._drain)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        with suppress(OSError):
            self._address.unlink()
        self._watch.close()
        self._connection.close()

    def wake(self) -> None:
        """Wake the waiting tasks of this process."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until the database may have changed; return False on a timeout of `seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not self._woken.is_set():
            left = deadline - loop.time()
            if left <= 0:
                return False
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._pause, left)):
                    await self._woken.wait()
            if self._moved():
                break
        self._woken.clear()
        return True

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._socket.recv(64)
                self._woken.set()

    def _note_commit(self) -> None:
        if self._moved():
            self._woken.set()

    def _moved(self) -> bool:
        version = self.version()
        moved, self._seen = version != self._seen, version
        return moved

    def version(self) -> int:
        """Return a number that changes with every commit to the file; -1 if it cannot be read."""
        with (
            suppress(driver.DatabaseError),
            closing(self._connection.execute("PRAGMA data_version")) as cursor,
        ):
            return int(cursor.fetchone()[0])
        return -1

    def row_of(self, kind: str, number: int) -> tuple[object, ...] | None:
        """Return the current row in the file; None if it does not exist or cannot be read."""
        with (
            suppress(driver.DatabaseError),
            closing(self._connection.execute(ROWS[kind], (number,))) as cursor,
        ):
            found: tuple[object, ...] | None = cursor.fetchone()
            return found
        return None
