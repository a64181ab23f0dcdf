"""The files that a session may read: regular files below some directories, never Lamplighter's own.

Each part of a path is opened below the one before it and no link is followed: the judged file is
the file that is read, even if names are exchanged meanwhile. Lamplighter's own files are recognized
by their identity, not by their name: a second name for them opens nothing.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from lamplighter.domain.errors import Conflict, NotFound

MAX_NAMED: Final = 100
MAX_SCANNED: Final = 10_000
MARGIN_BYTES: Final = 8 * 1024
"""Additional bytes around a part, to recognize a secret that begins before it."""
MACHINE: Final = ("/proc", "/sys", "/dev")
"""Pseudo files that expose the machine itself, with the secrets of its programs."""

REFUSED_PRIVATE: Final = "The file belongs to Lamplighter. Sessions cannot read it."
_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OPEN_ERRORS: Final = {
    errno.ELOOP: "it is a symbolic link, and links are not followed",
    errno.ENOTDIR: "a part of the path is a link or not a directory",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the name is too long",
}


@dataclass(frozen=True, slots=True)
class FilePart:
    """Part of a file of `size` bytes, from `start` to `end`: the start of `around[skipped:]`."""

    around: bytes
    skipped: int
    start: int
    end: int
    size: int


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The entries of a directory; `more` states that the list is incomplete."""

    names: tuple[str, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """The directories whose files may be read, and Lamplighter's own files, which may not."""

    roots: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()

    def read(self, path: str, *, offset: int, limit: int) -> FilePart | DirectoryListing:
        """Return part of a file, or the names in a directory; raises NotFound or Conflict."""
        root, below = self._placed(path)
        with _explained(path), ExitStack() as opened:
            at = self._opened(opened, root, below)
            if stat.S_ISDIR(os.fstat(at).st_mode):
                return _names(at)
            return _part(at, offset=offset, limit=limit)

    def open(self, path: str, opened: ExitStack) -> int:
        """Open a file or directory, closed with `opened`; raises NotFound or Conflict."""
        root, below = self._placed(path)
        with _explained(path):
            return self._opened(opened, root, below)

    def _placed(self, path: str) -> tuple[Path, tuple[str, ...]]:
        """Return the root that a path is below, and the parts of the rest."""
        pure = PurePosixPath(path)
        if not path.startswith("/") or path.startswith("//") or ".." in pure.parts:
            raise Conflict('The path must begin with one / and contain no "..".')
        for root in sorted(self.roots, key=lambda each: -len(each.parts)):
            if pure.parts[: len(root.parts)] == root.parts:
                return root, pure.parts[len(root.parts) :]
        roots = ", ".join(map(str, self.roots)) or "none"
        raise Conflict(f"{path} is outside the readable directories: {roots}.")

    def _opened(self, opened: ExitStack, root: Path, below: tuple[str, ...]) -> int:
        """Open the target of a path, part by part."""
        private_ids = frozenset(_identities(self.private))
        at = _open(opened, str(root), _DIRECTORY_FLAGS)
        for above in _parents(opened, at):
            _refuse_private(above, private_ids)
        for name in below:
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise OSError(errno.ELOOP, "")
            _refuse_private(status, private_ids)  # before opening: opening a device has effects
            if _has_name_in(status, self.private):
                raise Conflict(REFUSED_PRIVATE)
            _refuse_special(status)
            at = _open(opened, name, _FILE_FLAGS, at)
            found = os.fstat(at)
            _refuse_private(found, private_ids)
            _refuse_special(found)
        return at


def is_second_name(path: str, private: Sequence[Path]) -> bool:
    """Return whether a path is a hard link to a file of Lamplighter."""
    try:
        return _has_name_in(os.stat(path), private)
    except OSError:
        return False


def _has_name_in(status: os.stat_result, private: Sequence[Path]) -> bool:
    """Return whether a file with several names has one in a directory of Lamplighter."""
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 1:
        return False
    for directory, _, files in (entry for path in private for entry in os.walk(path)):
        for name in files:
            with suppress(OSError):
                if _identity(os.lstat(os.path.join(directory, name))) == _identity(status):
                    return True
    return False


Identity = tuple[int, int]


def _open(opened: ExitStack, name: str, flags: int, at: int | None = None) -> int:
    file = os.open(name, flags, dir_fd=at)
    opened.callback(os.close, file)
    return file


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _identities(paths: tuple[Path, ...]) -> Iterator[Identity]:
    for path in paths:
        with suppress(OSError):
            yield _identity(path.stat())


def _parents(opened: ExitStack, at: int) -> Iterator[os.stat_result]:
    """Yield a directory and all its parents, by their real paths."""
    while True:
        found = os.fstat(at)
        yield found
        at = _open(opened, "..", _DIRECTORY_FLAGS, at)
        if _identity(os.fstat(at)) == _identity(found):
            return


def _refuse_private(found: os.stat_result, private: frozenset[Identity]) -> None:
    if _identity(found) in private:
        raise Conflict(REFUSED_PRIVATE)
    if found.st_dev in _machine():
        raise Conflict("The path is a kernel or device path. Sessions cannot read it.")


def _machine() -> frozenset[int]:
    devices = set()
    for path in MACHINE:
        with suppress(OSError):
            devices.add(os.stat(path).st_dev)
    return frozenset(devices - {os.stat("/").st_dev})


def _refuse_special(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise Conflict("The path is neither a file nor a directory. It was not opened.")


def _names(at: int) -> DirectoryListing:
    with os.scandir(at) as entries:
        names = sorted(
            f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
            for entry in islice(entries, MAX_SCANNED)
        )
        more = next(entries, None) is not None
    return DirectoryListing(tuple(names[:MAX_NAMED]), more or len(names) > MAX_NAMED)


def _part(at: int, *, offset: int, limit: int) -> FilePart:
    size = os.fstat(at).st_size
    start = max(0, size + offset) if offset < 0 else min(offset, size)
    first = max(0, start - MARGIN_BYTES)
    around = os.pread(at, start - first + limit + MARGIN_BYTES, first)
    end = min(start + limit, first + len(around))
    return FilePart(around, start - first, start, max(start, end), max(size, end))


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Raise NotFound or Conflict if a path cannot be opened."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist.") from None
    except OSError as error:
        why = _OPEN_ERRORS.get(error.errno or 0, error.strerror)
        raise Conflict(f"Cannot read {path}: {why}.") from None
    except ValueError:
        raise Conflict(f"Cannot read {path}: no name.") from None
