"""The heartbeat of the leader: sent while it leads, watched by the standby."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.leader import HEARTBEAT, HUNG, Leader
from lamplighter.repository import Database, writing
from lamplighter.repository.services import events
from lamplighter.repository.store.driver import OperationalError, severity
from lamplighter.repository.upkeep import leases
from lamplighter.supervisor.lease import Lease

logger = logging.getLogger(__name__)

READ_SECONDS: Final = 1.0
STEP_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 1.0


@dataclass(slots=True)
class Heartbeat:
    """Sends the heartbeat of a leader from `start` to `stop`."""

    _task: asyncio.Task[None] | None = None

    def start(self, lock: Lease, db: Database, epoch: int, now: Callable[[], datetime]) -> None:
        """Send heartbeats from now on, also while remaining output is ingested."""
        self._task = asyncio.create_task(_send(lock, db, epoch, now))

    async def ended(self) -> None:
        """Wait while heartbeats are sent; raises Deposed."""
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """Stop sending the heartbeat."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@dataclass(slots=True)
class HeartbeatWatch:
    """Measures how long the leader's heartbeat is unchanged, by this machine's monotonic clock.

    No time of day is compared: setting a clock replaces no leader. Only the time in which the
    standby itself was running counts: after a pause of the whole machine, its leader gets the time
    to send the next heartbeat.
    """

    monotonic: Callable[[], float] = time.monotonic
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    _last: tuple[int, datetime] | None = None
    _read_at: float = 0.0
    _silent: float = 0.0
    _replaced: str = ""
    _freeing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def silent_seconds(self, leader: Leader) -> float:
        """Return how long the heartbeat has been unchanged; call with each reading."""
        now, heartbeat = self.monotonic(), (leader.epoch, leader.heartbeat_at)
        step = min(now - self._read_at, STEP_SECONDS)
        self._silent = self._silent + step if heartbeat == self._last else 0.0
        self._last, self._read_at = heartbeat, now
        return self._silent

    async def follow(self, db: Database, lock: Lease) -> None:
        """Watch the leader while it is another process, and free the lock if the leader hangs.

        The watch also runs while this process ends its work as the former leader, to leave the full
        time for the next hang.
        """
        while True:
            with suppress(OperationalError):  # the process that waits for the lock logs it
                if not lock.owned:
                    await self._free(db, lock)
            await asyncio.sleep(READ_SECONDS)

    async def _free(self, db: Database, lock: Lease) -> None:
        leader = await leases.get(db)
        if leader is None or self.silent_seconds(leader) < HUNG.total_seconds():
            return
        async with self._freeing:
            if await lock.free_from(leader):
                silence = f"sent no heartbeat for {HUNG.total_seconds():.0f} s"
                text = f"The leading supervisor (process {leader.pid}) {silence} and was replaced."
                self._replaced = text
                self.freed.set()

    async def note(self, db: Database, *, now: datetime) -> None:
        """Record that the previous leader was replaced, if it was.

        The lock can be taken before `free_from` reports its result: wait for the report.
        """
        async with self._freeing:
            text, self._replaced = self._replaced, ""
        if not text:
            return
        logger.warning("%s", text)
        async with writing(db):
            await events.insert(db, Level.CRITICAL, text, now=now)


async def _send(lock: Lease, db: Database, epoch: int, now: Callable[[], datetime]) -> None:
    pause = HEARTBEAT.total_seconds()
    while True:
        await asyncio.sleep(pause)
        try:
            await lock.take()  # a lock held by a connection is lost if the connection is cut
            await lock.beat(db, epoch, now=now())
            pause = HEARTBEAT.total_seconds()
        except OperationalError as error:
            logger.log(severity(error), "The heartbeat could not be recorded: %s", error)
            pause = RETRY_SECONDS
