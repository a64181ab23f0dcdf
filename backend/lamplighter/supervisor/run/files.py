"""Each session's file: the unchanged output of its engine, masked after the session's end."""

import asyncio
import fcntl
import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from lamplighter.domain.sessions.session import Session
from lamplighter.domain.sessions.summary import strip_markers
from lamplighter.domain.sessions.transcript import Finished, Line, Text, ToolUse
from lamplighter.engines import line_times, stream
from lamplighter.engines.tail import read_lines
from lamplighter.usecases.sessions.sessions import SessionEnd

BLOCK_BYTES: Final = 2**20
MAX_TEXT_CHARS: Final = 2_000
AT_ONCE_BYTES: Final = 8 * 2**20
"""Larger files are masked in the background."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class OutputSummary:
    """The contents of a session's whole file: its text, its tools, and its result.

    `answer` is the last text with more than markers.
    """

    first: str = ""
    last: str = ""
    count: int = 0
    answer: str = ""
    uses: dict[str, int] = field(default_factory=dict)
    finished: Finished | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts for a summary, in order; omitted ones are counted."""
        if self.count <= 1:
            return (self.first,) * self.count
        between = [""] * (self.count - 2)
        if between:
            between[-1] = self.answer
        return (self.first, *between, self.last)

    def end(self, **how: Any) -> SessionEnd:
        """Return the end of the session with these contents."""
        return SessionEnd(finished=self.finished, texts=self.texts, uses=self.uses, **how)


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The directory of the session files."""

    directory: Path
    max_line: int = field(default=4 * 2**20)

    def create(self, session: Session) -> Path:
        """Create the file of a session, readable only by this user; raises FileExistsError."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.path(session)
        path.touch(mode=0o600, exist_ok=False)
        return path

    def path(self, session: Session) -> Path:
        """Return the file of a session."""
        return self.directory / f"{session.output}.jsonl"

    def scratch(self, session: Session) -> Path:
        """Create the scratch directory of a session, accessible only to this user."""
        path = self.directory / session.output
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def clear(self, output: str) -> None:
        """Remove a session's scratch directory: its files are masked, and nothing is left to do."""
        shutil.rmtree(self.directory / output, ignore_errors=True)

    def empty(self, output: str) -> None:
        """Empty a session's own directory, which stays until its files are masked."""
        own = self.directory / output
        for each in own.iterdir() if own.is_dir() else ():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)

    def unmasked(self) -> list[str]:
        """Return the names of the outputs whose own directory still exists."""
        found = (path.with_suffix("") for path in self.directory.glob("*.jsonl"))
        return sorted(each.name for each in found if each.is_dir())

    def written_before(self, moment: float) -> dict[int, list[str]]:
        """Return the outputs last written before a time, by the ID of their session."""
        found: dict[int, list[str]] = {}
        for path in self.directory.glob("*.jsonl"):
            number = path.stem.partition("-")[0]
            if number.isdecimal() and path.stat().st_mtime < moment:
                found.setdefault(int(number), []).append(path.stem)
        return found

    def remove(self, output: str) -> None:
        """Remove the files of a session permanently."""
        self.clear(output)
        for path in [*self._printed(output), self.directory / f"{output}{line_times.SUFFIX}"]:
            path.unlink(missing_ok=True)

    def size(self, output: str) -> int:
        """Return the size of a session's files."""
        return sum(each.stat().st_size for each in self._printed(output))

    def holds(self, session: Session, name: str) -> bool:
        """Whether a session's scratch directory contains a file."""
        return (self.directory / session.output / name).is_file()

    @contextmanager
    def claimed(self, session: Session) -> Iterator[bool]:
        """Claim the output of a session, and return whether no other process has claimed it."""
        try:
            file = self.path(session).open("rb")
        except FileNotFoundError:
            yield True
            return
        with file:
            yield _locked(file)

    def free(self, session: Session, lock: str) -> bool:
        """Whether no process of a session holds this lock in its scratch directory."""
        with (self.scratch(session) / lock).open("ab") as file:
            return _locked(file)

    def repair(self, session: Session) -> int:
        """Complete a broken last line, and return the number of whole lines."""
        with self.path(session).open("rb+") as file:
            count, last = 0, b"\n"
            for last in file:
                count += _is_whole(last)
            if not last.endswith(b"\n"):
                file.write(b"\n")
        return count

    def lines(self, session: Session, offset: int = 0) -> Iterator[list[Line]]:
        """Return all lines of a file that no longer grows, some at a time."""
        return read_lines(self.path(session), offset, max_line=self.max_line)

    def heard(self, session: Session) -> OutputSummary:
        """Read a whole file for a summary of its session."""
        heard = OutputSummary()
        for lines in self.lines(session):
            for line in lines:
                _summarize_line(heard, line)
        return heard

    def mask(self, output: str, masked: Callable[[bytes], bytes], stopped: threading.Event) -> bool:
        """Rewrite a session's closed files with their secrets masked; every offset stays valid.

        Returns whether it finished before it was stopped.
        """
        for path in self._printed(output):
            kept = path.with_suffix(".masked")
            try:
                if self._copy(path, kept, masked, stopped):
                    os.replace(kept, path)
            finally:
                kept.unlink(missing_ok=True)
        return not stopped.is_set()

    def _printed(self, output: str) -> list[Path]:
        named = (self.directory / f"{output}{suffix}" for suffix in (".jsonl", ".err"))
        return [path for path in named if path.exists()]

    def _copy(
        self, path: Path, to: Path, masked: Callable[[bytes], bytes], stopped: threading.Event
    ) -> bool:
        """Copy a file with its secrets masked; return whether there were any, all masked."""
        changed = False
        with path.open("rb") as old, to.open("wb") as new:
            os.fchmod(new.fileno(), 0o600)
            for block in blocks(old):
                if stopped.is_set():
                    return False
                began = time.monotonic()
                safe = masked(block)
                changed = changed or safe != block
                new.write(safe)
                time.sleep(time.monotonic() - began)  # leaves half of the time to others
            new.flush()
            os.fsync(new.fileno())
        return changed


@dataclass(slots=True)
class FileMasker:
    """Masks large files one after another; the next start finds those that remain.

    No interface shows unmasked parts of a waiting file: each read is masked line by line.
    """

    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def clean(
        self, files: SessionFiles, output: str, masked: Callable[[bytes], bytes]
    ) -> None:
        """Remove a session's scratch directory, and mask its files now or soon."""
        await asyncio.to_thread(files.empty, output)
        work = partial(self._mask, files, output, masked)
        if await asyncio.to_thread(files.size, output) <= AT_ONCE_BYTES:
            await asyncio.to_thread(work)
            return
        task = asyncio.create_task(self._in_turn(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ended(self) -> None:
        """Wait until all files are masked."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Stop between two blocks; the rest is done at the next start."""
        self._stopped.set()
        await self.ended()
        self._stopped.clear()

    async def _in_turn(self, work: Callable[[], None]) -> None:
        async with self._turn:
            await asyncio.to_thread(work)

    def _mask(self, files: SessionFiles, output: str, masked: Callable[[bytes], bytes]) -> None:
        try:
            if files.mask(output, masked, self._stopped):
                files.clear(output)
        except OSError as error:
            logger.warning("The secrets in the output %s could not be masked: %s", output, error)


def blocks(file: BinaryIO, *, growing: bool = False) -> Iterator[bytes]:
    """Yield a file in parts of whole lines; a longer line in parts of whole words.

    The end of a growing file is left out until its line or word is complete.
    """
    rest = b""
    while chunk := file.read(BLOCK_BYTES):
        data = rest + chunk
        cut = data.rfind(b"\n") + 1
        cut = cut or max(data.rfind(end) for end in (b" ", b",", b'"')) + 1 or len(data)
        yield data[:cut]
        rest = data[cut:]
    if rest and not growing:
        yield rest


def _locked(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _summarize_line(output: OutputSummary, line: Line) -> None:
    if b"{" not in line.content:  # not a protocol line: there may be a million of them
        return
    for item in stream.parse(line.content):
        if isinstance(item, Text) and item.own and item.text.strip():
            output.count += 1
            output.last = item.text.strip()[:MAX_TEXT_CHARS]
            output.first = output.first or output.last
            output.answer = output.last if strip_markers(output.last).strip() else output.answer
        elif isinstance(item, ToolUse):
            name = item.name.rpartition("__")[2]
            output.uses[name] = output.uses.get(name, 0) + 1
        elif isinstance(item, Finished):
            output.finished = item
