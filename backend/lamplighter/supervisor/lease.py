"""The lock that makes one supervisor the leader; the end of its process releases it."""

import fcntl
import os
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from lamplighter.domain.errors import Unavailable
from lamplighter.domain.services.leader import Leader
from lamplighter.repository import Database, writing
from lamplighter.repository.upkeep import leases

SUFFIX: Final = ".supervisor.lock"


class Lease(Protocol):
    """A lock that only one supervisor can hold at a time."""

    @property
    def owned(self) -> bool:
        """Whether this process holds the lock."""

    async def take(self) -> bool:
        """Take the lock without waiting; return whether this process holds it."""

    async def release(self) -> None:
        """Release the lock."""

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat of the supervisor with this lease; raises Deposed."""

    async def free_from(self, leader: Leader) -> bool:
        """Free the lock from a hanging leader, unless it sent a heartbeat.

        Returns whether the lock was freed.
        """


class Lock:
    """A lock between processes on a file beside the database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def owned(self) -> bool:
        """Whether this process holds the lock."""
        return self._file is not None

    async def take(self) -> bool:
        """Take the lock without waiting; return whether this process holds it.

        Raises Unavailable.
        """
        if self._file is not None:
            return True
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(f"Cannot open {self._path}: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    async def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat; raises Deposed."""
        async with writing(db):
            await leases.record_heartbeat(db, epoch, now=now)

    async def free_from(self, leader: Leader) -> bool:
        """Do nothing: the system releases the lock when the process ends."""
        return False
