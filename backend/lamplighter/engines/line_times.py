"""When the lines of a session's file were read: a small file beside it, for the session's page."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from lamplighter.domain.sessions.transcript import Line

SUFFIX: Final = ".times"
END_DIGITS: Final = 18
AT_DIGITS: Final = 13
MAX_BYTES: Final = 4 * 2**20
"""More than this is not written and not read: a session that prints that much has other limits."""


class LineTimes:
    """Records up to which byte a session's file was read, and when."""

    def __init__(self, output: Path) -> None:
        self._path = output.with_suffix(SUFFIX)
        self._file: BinaryIO | None = None
        self._size = 0

    def note(self, lines: Sequence[Line], at: datetime) -> None:
        """Record that these lines were read at a moment; a full disk is no matter."""
        if not lines:
            return
        line = f"\n{lines[-1].end} {int(at.timestamp() * 1_000)}\n".encode()
        try:
            if self._file is None:
                self._file = self._path.open("ab", buffering=0)
                self._path.chmod(0o600)
                self._size = self._file.tell()
            if self._size + len(line) <= MAX_BYTES:
                self._size += self._file.write(line)
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class ReadTimes:
    """The time when each byte of a session's file was read, if known."""

    def __init__(self, output: Path) -> None:
        self._ends: list[int] = []
        self._at: list[int] = []
        try:
            with output.with_suffix(SUFFIX).open("rb") as file:
                content = file.read(MAX_BYTES)
        except OSError:
            return
        for line in content.splitlines():
            end, _, at = line.partition(b" ")
            broken = len(end) > END_DIGITS or len(at) != AT_DIGITS  # after a full disk or crash
            if broken or not (end.isdigit() and at.isdigit()):
                continue
            if int(end) > (self._ends or [-1])[-1]:
                self._ends.append(int(end))
                self._at.append(int(at))

    def of(self, start: int) -> datetime | None:
        """Return when the line that begins at this byte was read."""
        place = bisect_right(self._ends, start)
        if place >= len(self._at):
            return None
        return datetime.fromtimestamp(self._at[place] / 1_000, UTC)
