"""Notifications of commits between processes, through PostgreSQL.

A live connection loses no notification. A dead connection is replaced, and the waiting tasks are
woken to read the changes that they missed.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Final

import asyncpg

from lamplighter.repository.store.database import CHANNEL
from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.store.postgres import connect, translate_errors

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 0.5
ANSWER_SECONDS: Final = 5.0


class PostgresListener:
    """A listener that wakes when the database may have changed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._woken = asyncio.Event()
        self._lost = asyncio.Event()
        self._connection: asyncpg.Connection | None = None

    async def __aenter__(self) -> "PostgresListener":
        await self._listen()
        self._keeping = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._keeping.cancel()
        with suppress(asyncio.CancelledError):
            await self._keeping
        self._drop()

    def version(self) -> int:
        """Return -1: a server has no number of its commits."""
        return -1

    def row_of(self, kind: str, number: int) -> None:
        """Return None: a server cannot be read without waiting."""

    def wake(self) -> None:
        """Wake the waiting tasks of this process."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until the database may have changed; return False on a timeout of `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    async def _keep(self) -> None:
        """Maintain a live connection while there are listeners."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._lost.wait()
            if await self._lives():
                continue
            self._drop()
            try:
                await self._listen()
            except OperationalError as error:
                logger.warning("The change feed lost its connection (%s); retrying.", error)
                self._lost.set()
                await asyncio.sleep(RETRY_SECONDS)
            self.wake()

    async def _listen(self) -> None:
        connection = await connect(self._url)
        self._lost.clear()
        connection.add_termination_listener(lambda _: self._lost.set())
        async with translate_errors():
            await connection.add_listener(CHANNEL, self._heard)
        self._connection = connection

    async def _lives(self) -> bool:
        if self._connection is None or self._connection.is_closed():
            return False
        try:
            async with translate_errors():
                await self._connection.execute("SELECT 1", timeout=ANSWER_SECONDS)
        except OperationalError:
            return False
        return True

    def _heard(self, *_: Any) -> None:
        self._woken.set()

    def _drop(self) -> None:
        held, self._connection = self._connection, None
        if held is not None:
            held.terminate()
