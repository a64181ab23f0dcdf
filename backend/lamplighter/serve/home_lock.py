"""The lock of a home: every process that uses it shares it, a restore needs it alone."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Unavailable

FILE: Final = "home.lock"
JOURNAL: Final = "restore.json"
"""The journal of a restore, until it has ended."""
RESTORING: Final = "A restore is running in {}. Try again when it has finished."
IN_USE: Final = (
    "{} is in use. Stop Lamplighter first (web process, supervisor, running commands), "
    "then try again."
)


@contextmanager
def shared(home: Path) -> Iterator[None]:
    """Use a home together with others; raises Unavailable while it is restored."""
    with _hold_lock(home / FILE, fcntl.LOCK_SH, RESTORING.format(home)):
        yield


@contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Use a home alone; raises Unavailable while any process uses it."""
    with _hold_lock(home / FILE, fcntl.LOCK_EX, IN_USE.format(home)):
        yield


@contextmanager
def alone(path: Path, message: str) -> Iterator[None]:
    """Hold the lock of a file alone; raises Unavailable with a message."""
    with _hold_lock(path, fcntl.LOCK_EX, message):
        yield


@contextmanager
def temporary(path: Path, message: str) -> Iterator[None]:
    """Hold the lock of a file alone, and remove the file; raises Unavailable with a message."""
    with _hold_lock(path, fcntl.LOCK_EX, message) as file:
        if file is not None and not os.fstat(file).st_nlink:  # its process removed it meanwhile
            raise Unavailable(message)
        try:
            yield
        finally:
            if file is not None:
                with suppress(OSError):
                    path.unlink()


@contextmanager
def _hold_lock(path: Path, how: int, message: str) -> Iterator[int | None]:
    file = _open_lock(path)
    try:
        if file is not None:
            try:
                fcntl.flock(file, how | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Unavailable(message) from error
        yield file
    finally:
        if file is not None:
            os.close(file)


def _open_lock(path: Path) -> int | None:
    """Open a lock file; None if the directory is not writable: then no restore can run there."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.ENOSPC, errno.ENOENT):
            return None
        raise
