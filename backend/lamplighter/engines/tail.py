"""Follow a session's file as it grows, in complete lines."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Final

from lamplighter.domain.sessions.transcript import Line

MAX_LINE_BYTES: Final = 4 * 2**20
CHUNK_BYTES: Final = 256 * 1024
PART_BYTES: Final = 64 * 1024
"""The bytes per read while a session runs; its limits are checked between two reads."""

POLL_SECONDS: Final = 0.05


class Tail:
    """Reads lines from a byte offset on; an incomplete line waits.

    A line longer than `max_line` is skipped without being held in memory.
    """

    def __init__(self, path: Path, offset: int = 0, *, max_line: int = MAX_LINE_BYTES) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._max_line = max_line
        self._start = offset  # start of the unfinished line
        self._size = 0  # bytes of that line read until now
        self._rest = bytearray()  # these bytes; empty if the line is too long

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def read(self) -> list[Line]:
        """Return the lines that end in the next part of the file."""
        chunk = os.pread(self._file, PART_BYTES, self._start + self._size)
        lines: list[Line] = []
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            self._grow(chunk[begin:end])
            lines.append(self._ended(line_end=1))
            begin = end + 1
        self._grow(chunk[begin:])
        return lines

    @property
    def at_end(self) -> bool:
        """Whether everything up to now was read."""
        return self.left <= 0

    @property
    def position(self) -> int:
        """How far the file was read, in bytes."""
        return self._start + self._size

    @property
    def left(self) -> int:
        """How many bytes of the file were not read yet."""
        return self.size - self.position

    @property
    def size(self) -> int:
        """How many bytes the file has now."""
        return os.fstat(self._file).st_size

    def skip(self) -> Line:
        """Skip the unread bytes, and report their number in their place."""
        left, end = self._size + self.left, self.size
        self._rest.clear()
        return self._line(end, f"The last {left / 2**20:.1f} MB were skipped.")

    @property
    def unfinished(self) -> int:
        """How many bytes of a line without an end were read."""
        return self._size

    def last(self) -> Line | None:
        """Return the bytes after the last line end of a file that is complete."""
        if not self._size:
            return None
        line = self._ended(line_end=0)
        if line.content.lstrip().startswith(b"{") and not line.content.rstrip().endswith(b"}"):
            return Line(line.start, line.end, b"", "The last line is incomplete and was skipped.")
        return line

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._max_line:
            self._rest += part
        else:
            self._rest.clear()

    def _ended(self, *, line_end: int) -> Line:
        problem = ""
        if self._size > self._max_line:
            problem = f"A line of {self._size / 2**20:.1f} MB is too long and was skipped."
        return self._line(self._start + self._size + line_end, problem)

    def _line(self, end: int, problem: str) -> Line:
        """Return the unfinished line as one that ends here; the next begins there."""
        line = Line(self._start, end, bytes(self._rest), problem)
        self._start, self._size = end, 0
        self._rest.clear()
        return line


def read_lines(
    path: Path, offset: int = 0, *, max_line: int = MAX_LINE_BYTES
) -> Iterator[list[Line]]:
    """Yield all lines of a file that no longer grows, some at a time."""
    with closing(Tail(path, offset, max_line=max_line)) as tail:
        while not tail.at_end:
            yield tail.read()
        if last := tail.last():
            yield [last]


@asynccontextmanager
async def watch_growth(path: Path) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when the file grows, if inotify is available.

    The event is a hint: its reader also checks every POLL_SECONDS.
    """
    grown = asyncio.Event()
    watcher = asyncio.create_task(_notice(path, grown))
    try:
        yield grown
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _notice(path: Path, grown: asyncio.Event) -> None:
    if sys.platform != "linux":
        return
    from asyncinotify import Inotify, Mask

    with suppress(OSError), Inotify() as inotify:  # no inotify watches left: polling still works
        inotify.add_watch(path, Mask.MODIFY)
        async for _ in inotify:
            grown.set()
