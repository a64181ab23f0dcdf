"""Each session's file: what its engine printed, as it printed it."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lamplighter.domain.transcript import Finished, Line, Text
from lamplighter.engines import stream
from lamplighter.engines.tail import Tail

FULL_BYTES: Final = 64 * 1024
SAID_KEPT_CHARS: Final = 2_000


@dataclass(slots=True)
class Heard:
    """What a whole file says about its session: the first and last words, and its result."""

    first: str = ""
    last: str = ""
    count: int = 0
    finished: Finished | None = None

    @property
    def said(self) -> tuple[str, ...]:
        """The words that a summary needs, in order; those between are left out but counted."""
        if self.count <= 1:
            return (self.first,) * self.count
        return (self.first, *("",) * (self.count - 2), self.last)


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The directory of the session files."""

    directory: Path
    max_line: int = field(default=4 * 2**20)

    def make(self, session_id: int) -> Path:
        """Make the file of a session, for our eyes only."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.path(session_id)
        path.touch(mode=0o600)
        return path

    def path(self, session_id: int) -> Path:
        """Return the file of a session."""
        return self.directory / f"{session_id}.jsonl"

    def scratch(self, session_id: int) -> Path:
        """Make the directory that is a session's own while it lasts, for our eyes only."""
        path = self.directory / f"{session_id}"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def clear(self, session_id: int) -> None:
        """Remove a session's own directory and all that is in it."""
        shutil.rmtree(self.directory / f"{session_id}", ignore_errors=True)

    def holds(self, session_id: int, name: str) -> bool:
        """Whether a session's own directory holds a file."""
        return (self.directory / f"{session_id}" / name).is_file()

    def free(self, session_id: int, lock: str) -> bool:
        """Whether no process of a session holds this lock in its own directory."""
        with (self.scratch(session_id) / lock).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def mend(self, session_id: int) -> int:
        """End a line that was broken off, and return how many whole ones were printed."""
        with self.path(session_id).open("rb+") as file:
            said, last = 0, b"\n"
            for last in file:
                said += _is_whole(last)
            if not last.endswith(b"\n"):
                file.write(b"\n")
        return said

    def full(self) -> bool:
        """Whether nothing more can be written where the files are."""
        found = os.statvfs(self.directory)
        return found.f_bavail * found.f_frsize < FULL_BYTES

    def lines(self, session_id: int, offset: int = 0) -> Iterator[list[Line]]:
        """Yield all lines of a file that grows no more, some at a time."""
        tail = Tail(self.path(session_id), offset, max_line=self.max_line)
        try:
            while not tail.at_end:
                yield tail.read()
            last = tail.last()
            if last:
                yield [last]
        finally:
            tail.close()

    def heard(self, session_id: int) -> Heard:
        """Read a whole file for what its session said."""
        heard = Heard()
        for lines in self.lines(session_id):
            for line in lines:
                _hear(heard, line)
        return heard

    def mask(self, session_id: int, masked: Callable[[bytes], bytes]) -> None:
        """Rewrite a session's closed files with their secrets masked; every offset stays true."""
        path = self.path(session_id)
        for each in (path, path.with_suffix(".err")):
            if each.exists():
                self._mask(each, masked)

    def _mask(self, path: Path, masked: Callable[[bytes], bytes]) -> None:
        kept = path.with_suffix(".masked")
        try:
            if self._copy(path, kept, masked):
                os.replace(kept, path)
        finally:
            kept.unlink(missing_ok=True)

    def _copy(self, path: Path, to: Path, masked: Callable[[bytes], bytes]) -> bool:
        """Copy a file with its secrets masked; say whether there were any."""
        changed = False
        with path.open("rb") as old, to.open("wb") as new:
            os.fchmod(new.fileno(), 0o600)
            for line in old:
                safe = masked(line) if len(line) <= self.max_line else line
                changed = changed or safe != line
                new.write(safe)
            new.flush()
            os.fsync(new.fileno())
        return changed


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _hear(heard: Heard, line: Line) -> None:
    if b"{" not in line.content:  # no line of the protocol: there may be a million of them
        return
    for item in stream.parse(line.content):
        if isinstance(item, Text) and item.own and item.text.strip():
            heard.count += 1
            heard.last = item.text.strip()[:SAID_KEPT_CHARS]
            heard.first = heard.first or heard.last
        elif isinstance(item, Finished):
            heard.finished = item
