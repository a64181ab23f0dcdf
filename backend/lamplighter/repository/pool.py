"""Connections held open, so that a statement waits for neither a thread nor a file."""

import asyncio
from contextlib import suppress
from typing import Final

import aiosqlite

from lamplighter.repository import driver

ACQUIRE_SECONDS: Final = 30.0
MOST_WAITING: Final = {True: 400, False: 64}
"""How many may wait for a connection that reads, or that writes: of more each waits too long."""
AGAIN_SECONDS: Final = 0.05


def interrupt(connection: aiosqlite.Connection) -> None:
    """End the statement that still runs on a connection, if any: closing would wait for it."""
    with suppress(driver.Error, ValueError):  # it is closed already
        connection._conn.interrupt()


class Pool:
    """Open connections of one kind; taking one waits for it, a late one is an error."""

    def __init__(self, path: str, *, size: int, readonly: bool) -> None:
        self._path, self._size, self._readonly = path, size, readonly
        self._free: asyncio.LifoQueue[aiosqlite.Connection] = asyncio.LifoQueue()
        self._all: list[aiosqlite.Connection] = []
        self._waiting = 0
        self._ending: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open all connections now, so that a wrong path fails at the start."""
        try:
            for _ in range(self._size):
                self._all.append(await self._opened())
                self._free.put_nowait(self._all[-1])
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close all connections, those in use too."""
        for connection in self._all:
            interrupt(connection)
        if self._ending:
            await asyncio.wait(self._ending)
        for connection in self._all:
            await connection.close()
        self._all.clear()
        self._free = asyncio.LifoQueue()

    async def take(self) -> aiosqlite.Connection:
        """Wait for a free connection."""
        with suppress(asyncio.QueueEmpty):
            return self._free.get_nowait()
        if self._waiting >= MOST_WAITING[self._readonly]:
            raise driver.OperationalError(f"{self._waiting} others wait for a connection")
        self._waiting += 1
        try:
            async with asyncio.timeout(ACQUIRE_SECONDS):
                return await self._free.get()
        except TimeoutError:
            late = f"no connection was free in {ACQUIRE_SECONDS:g} s"
            raise driver.OperationalError(late) from None
        finally:
            self._waiting -= 1

    def give_back(self, connection: aiosqlite.Connection, *, abandoned: bool = False) -> None:
        """Take a connection back without waiting; an open transaction is rolled back first.

        `abandoned` says that nobody waits any more for the statement it runs: that
        one is ended. Even asking for an open transaction would wait for it.
        """
        if abandoned:
            interrupt(connection)
        elif not connection.in_transaction:
            self._free.put_nowait(connection)
            return
        task = asyncio.ensure_future(self._roll_back(connection, abandoned=abandoned))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _roll_back(self, connection: aiosqlite.Connection, *, abandoned: bool) -> None:
        rolled = asyncio.ensure_future(connection.rollback())
        try:
            while abandoned and not (await asyncio.wait({rolled}, timeout=AGAIN_SECONDS))[0]:
                interrupt(connection)  # one that comes before its statement begins is lost
            await rolled
        finally:
            self._free.put_nowait(connection)

    async def _opened(self) -> aiosqlite.Connection:
        connection = aiosqlite.Connection(self._connect, 64)
        connection._thread.daemon = True  # or a connection left open would hang the exit
        try:
            return await connection
        except BaseException:
            await asyncio.to_thread(connection._thread.join)  # or it would outlive the loop
            raise

    def _connect(self) -> driver.Connection:
        connection = driver.connect(self._path, readonly=self._readonly)
        if not self._readonly:
            driver.impatient(connection)
        return connection
