"""The lock that makes one supervisor the leader, held by a connection to PostgreSQL."""

import asyncio
from datetime import datetime
from typing import Final

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import asyncpg as words

from lamplighter.domain.leader import Leader
from lamplighter.repository import leases
from lamplighter.repository.database import Database, writing
from lamplighter.repository.postgres import LEADER, OURS, connect, count, our_errors
from lamplighter.repository.statements import Compiler

TAKE: Final = f"SELECT pg_try_advisory_lock({OURS}, $1)"
ALIVE: Final = {  # so that the server finds out within half a minute when our machine is gone
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "lock_timeout": "5s",
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
        self._compile = Compiler(words.dialect())  # type: ignore[no-untyped-call]

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

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat; raises Deposed.

        It goes over the connection that holds the lock and waits for no writer: a leader that
        is busy, or whose database is, is not taken for one that hangs.
        """
        if self._connection is None or not self.held:
            async with writing(db):
                await leases.beat(db, epoch, now=now)
            return
        sql, arguments, _ = self._compile(leases.heartbeat(epoch, now=now))
        async with our_errors():
            status = await self._connection.execute(sql, *arguments)
        if not count(status):
            await leases.hold(db, epoch)

    async def free_from(self, leader: Leader) -> bool:
        """End the connection that holds the lock, unless its leader has sent a heartbeat since.

        One statement decides and ends it. It needs no right but that of the same database user.
        """
        sql, arguments, _ = self._compile(self._ending(leader))
        connection = await connect(self._url, **ALIVE)
        try:
            async with our_errors():
                return bool(await connection.fetchval(sql, *arguments))
        finally:
            connection.terminate()

    def _ending(self, leader: Leader) -> sa.Select[tuple[bool]]:
        held = sa.table(
            "pg_locks",
            *map(sa.column, ("pid", "locktype", "database", "classid", "objid", "granted")),
        )
        here = sa.table("pg_database", sa.column("oid"), sa.column("datname"))
        return (
            sa.select(sa.func.pg_terminate_backend(held.c.pid))
            .select_from(held.join(here, here.c.oid == held.c.database))
            .where(here.c.datname == sa.func.current_database())
            .where(held.c.locktype == "advisory")
            .where(held.c.classid == sa.literal_column(str(OURS)))
            .where(held.c.objid == sa.literal_column(str(self._what)))
            .where(held.c.granted)
            .where(leases.unchanged(leader).exists())
        )
