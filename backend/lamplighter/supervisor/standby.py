"""A supervisor on standby: it tries the lock, and ingests output meanwhile."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from lamplighter.repository.store.driver import OperationalError, severity
from lamplighter.supervisor.heartbeat import HeartbeatWatch
from lamplighter.supervisor.lease import Lease
from lamplighter.supervisor.patience import wait_for_first

logger = logging.getLogger(__name__)

STANDBY_SECONDS: Final = 1.0
RETRY_MESSAGE: Final = "The database is not available (%s); retrying."

Ingest = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Standby:
    """Waits for the lock of the leading supervisor."""

    lock: Lease
    watch: HeartbeatWatch = field(default_factory=HeartbeatWatch)

    async def until_leader(
        self, lead: Callable[[], Awaitable[bool]], ingest: Ingest, draining: asyncio.Event
    ) -> bool:
        """Try to lead until this supervisor is the leader; return False if it must end."""
        while not draining.is_set():
            try:
                if await lead():
                    return True
            except OperationalError as error:
                logger.log(severity(error), RETRY_MESSAGE, error)
                await asyncio.sleep(STANDBY_SECONDS)
                continue
            await self._wait(ingest, draining)
        return False

    async def _wait(self, ingest: Ingest, draining: asyncio.Event) -> None:
        """Wait for the lock; output is ingested meanwhile."""
        logger.warning("Another supervisor is the leader; this one is on standby.")
        async with asyncio.TaskGroup() as both:
            ingesting = both.create_task(_repeat(ingest))
            while not draining.is_set() and not await self._took_lock():
                pause = asyncio.sleep(STANDBY_SECONDS)
                await wait_for_first(draining.wait(), self.watch.freed.wait(), pause)
                self.watch.freed.clear()
            ingesting.cancel()

    async def _took_lock(self) -> bool:
        try:
            return await self.lock.take()
        except OperationalError as error:
            logger.log(severity(error), RETRY_MESSAGE, error)
            return False


async def _repeat(ingest: Ingest) -> None:
    while True:
        try:
            await ingest()
        except OperationalError as error:
            logger.log(severity(error), RETRY_MESSAGE, error)
        await asyncio.sleep(STANDBY_SECONDS)
