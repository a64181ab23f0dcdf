"""The lock that makes one supervisor the leader, held by a connection to PostgreSQL."""

import asyncio
from typing import Final

import asyncpg

from lamplighter.repository.postgres import LEADER, OURS, connect, our_errors

TAKE: Final = f"SELECT pg_try_advisory_lock({OURS}, $1)"
ALIVE: Final = {  # so that the server finds out within half a minute when our machine is gone
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}


class PostgresLock:
    """A lock of a session of the server: it ends with our connection, however that ends.

    Then another supervisor may lead before this one knows: the lease's epoch is the
    fence that keeps what it still writes out.
    """

    def __init__(self, url: str, what: int = LEADER) -> None:
        self._url, self._what = url, what
        self._connection: asyncpg.Connection | None = None
        self._taking = asyncio.Lock()

    @property
    def held(self) -> bool:
        """Whether the lock is ours, as far as we can know."""
        return self._connection is not None and not self._connection.is_closed()

    async def take(self) -> bool:
        """Take the lock without waiting; say whether it is ours. Raises OperationalError.

        One try at a time: a second one would find the lock held, by the first.
        """
        async with self._taking:
            return self.held or await self._try()

    async def _try(self) -> bool:
        connection = await connect(self._url, **ALIVE)
        taken = False
        try:
            async with our_errors():
                taken = bool(await connection.fetchval(TAKE, self._what))
        finally:
            if not taken:
                connection.terminate()
        self._connection = connection if taken else None
        return taken

    async def release(self) -> None:
        """Let go of the lock."""
        held, self._connection = self._connection, None
        if held is not None:
            held.terminate()
