"""The lock that makes one supervisor the leader, held by a connection to PostgreSQL."""

import asyncio
from datetime import datetime
from typing import Final

import asyncpg
import sqlalchemy as sa

from lamplighter.domain.services.leader import Leader
from lamplighter.repository.store.database import Database, writing
from lamplighter.repository.store.postgres import (
    COMPILER,
    END_STUCK_WRITER,
    LEADER,
    LOCK_NAMESPACE,
    WRITER,
    connect,
    count,
    translate_errors,
)
from lamplighter.repository.upkeep import leases

TRY_LOCK: Final = f"SELECT pg_try_advisory_lock({LOCK_NAMESPACE}, $1)"
KEEPALIVE: Final = {  # the server must notice within 30 s that our machine is gone
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "lock_timeout": "5s",
}
ENDING_MS: Final = 2_000
LOCKS: Final = sa.table(
    "pg_locks", *map(sa.column, ("pid", "locktype", "classid", "objid", "granted"))
)
ACTIVITY: Final = sa.table(
    "pg_stat_activity", *map(sa.column, ("pid", "datname", "application_name"))
)


class PostgresLock:
    """A session-level lock of the server: it ends with our connection, for whatever reason.

    Another supervisor may then become the leader before this supervisor notices: the epoch of the
    lease fences off its late writes.
    """

    def __init__(self, url: str, what: int = LEADER) -> None:
        self._url, self._what = url, what
        self._connection: asyncpg.Connection | None = None
        self._taking = asyncio.Lock()

    @property
    def owned(self) -> bool:
        """Whether this process owns the lock, as far as it can know."""
        return self._connection is not None and not self._connection.is_closed()

    async def take(self) -> bool:
        """Take the lock without waiting; return whether it is ours. Raises OperationalError.

        One attempt at a time: a second attempt would find the lock taken by the first.
        """
        async with self._taking:
            return self.owned or await self._try()

    async def _try(self) -> bool:
        connection = await connect(self._url, **KEEPALIVE)
        locked = False
        try:
            async with translate_errors():
                locked = bool(await connection.fetchval(TRY_LOCK, self._what))
        finally:
            if not locked:
                connection.terminate()
        self._connection = connection if locked else None
        return locked

    async def release(self) -> None:
        """Release the lock."""
        held, self._connection = self._connection, None
        if held is not None:
            held.terminate()

    async def beat(self, db: Database, epoch: int, *, now: datetime) -> None:
        """Write the heartbeat; raises LeadershipLost.

        It uses the connection that holds the lock and waits for no writer: a busy leader, or a
        leader with a busy database, is not mistaken for a hung leader.
        """
        if self._connection is None or not self.owned:
            await leases.ensure_leader(
                db, epoch
            )  # a replaced leader is notified without waiting for a write
            async with writing(db):
                await leases.record_heartbeat(db, epoch, now=now)
            return
        sql, arguments, _ = COMPILER(leases.heartbeat_statement(epoch, now=now))
        async with translate_errors():
            status = await self._connection.execute(sql, *arguments)
        if not count(status):
            await leases.ensure_leader(db, epoch)

    async def free_from(self, leader: Leader) -> bool:
        """End the process that owns the lock, as far as the server can: its blocking connections.

        One statement decides, unless the leader has sent a heartbeat since, and ends each of its
        connections that holds one of our locks or waits for one: the leader may hang during a
        write. A writer that is stuck on the same machine is ended too. This requires only the same
        database user. When it returns, the locks are free.
        """
        sql, arguments, _ = COMPILER(self._ending(leader))
        connection = await connect(self._url, **KEEPALIVE)
        try:
            async with translate_errors():
                ended = await connection.fetch(sql, *arguments)
                if ended:
                    await connection.fetch(END_STUCK_WRITER, LOCK_NAMESPACE, WRITER)
        finally:
            connection.terminate()
        return bool(ended)

    def _ending(self, leader: Leader) -> sa.Select[tuple[bool]]:
        locks = (
            sa.select(LOCKS.c.pid)
            .where(LOCKS.c.locktype == "advisory")
            .where(LOCKS.c.classid == sa.literal_column(str(LOCK_NAMESPACE)))
        )
        lock = locks.where(LOCKS.c.objid == sa.literal_column(str(self._what)), LOCKS.c.granted)
        here = ACTIVITY.c.datname == sa.func.current_database()
        holder = sa.select(ACTIVITY.c.application_name).where(here, ACTIVITY.c.pid.in_(lock))
        each = ACTIVITY.alias()
        return (
            sa.select(sa.func.pg_terminate_backend(each.c.pid, ENDING_MS))
            .where(each.c.datname == sa.func.current_database())
            .where(each.c.application_name == holder.scalar_subquery())
            .where(each.c.pid.in_(locks))
            .where(leases.unchanged(leader).exists())
        )
