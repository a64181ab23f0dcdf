"""Writes to the file of a SQLite database or to its log, as inotify reports them.

The log is written before its index, which makes a commit visible. So one read at the time of a
write is not enough, and four more follow, 250 ms apart. The next write is reported after those,
so that a busy writer costs no more than polling.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

POLL_SECONDS: Final = 0.25
POLLS: Final = 4
EVENT_BYTES: Final = 64 * 1024


class FileWrites:
    """Calls `callback` when one of the files was written to, and for a second after that."""

    def __init__(self, path: str, callback: Callable[[], None]) -> None:
        file = os.path.realpath(path)
        self._files, self._callback = (file, f"{file}-wal"), callback
        self._opened = ExitStack()
        self._timer: asyncio.TimerHandle | None = None
        self._number = -1
        self._left = 0

    def open(self) -> bool:
        """Begin to watch; return whether inotify can."""
        if sys.platform != "linux":
            return False
        from asyncinotify import Inotify, Mask

        try:
            inotify = self._opened.enter_context(Inotify())
            for file in self._files:
                inotify.add_watch(file, Mask.MODIFY)
        except OSError:  # there is no log yet, or this machine has no watch left
            self._opened.close()
            return False
        self._loop, self._number = asyncio.get_running_loop(), inotify.fd
        os.set_blocking(self._number, False)
        self._loop.add_reader(self._number, self._written)
        return True

    def close(self) -> None:
        """Watch no more."""
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
