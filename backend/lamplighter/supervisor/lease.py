"""The lock that makes one supervisor the leader: it is let go when its process dies."""

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
    """What only one supervisor can hold at a time."""

    @property
    def owned(self) -> bool:
        """Whether it is ours."""

    async def take(self) -> bool:
        """Take it without waiting; say whether it is ours."""

    async def release(self) -> None:
        """Let go of it."""

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat of the supervisor that holds it; raises Deposed."""

    async def free_from(self, leader: Leader) -> bool:
        """Free it from a leader that hangs, unless a heartbeat came since; say whether it was."""


class Lock:
    """A lock between processes on a file beside the database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def owned(self) -> bool:
        """Whether the lock is ours."""
        return self._file is not None

    async def take(self) -> bool:
        """Take the lock without waiting; say whether it is ours. Raises Unavailable."""
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
        """Let go of the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat; raises Deposed."""
        async with writing(db):
            await leases.record_heartbeat(db, epoch, now=now)

    async def free_from(self, leader: Leader) -> bool:
        """Do nothing: the system releases it when the process ends."""
        return False
