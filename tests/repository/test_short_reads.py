"""Where a read statement runs: short ones inline, once the reader has its snapshot."""

import threading

import sqlalchemy as sa

from lamplighter.repository import Database, reading, writing
from lamplighter.repository.store.statements import Statement
from lamplighter.repository.store.tables import links

THREAD = sa.select(sa.func.running_thread().label("thread"), sa.func.count(links.c.id))
SHORT, LONG = Statement(THREAD), Statement(THREAD, long=True)


async def thread_of(db: Database, statement: Statement) -> int:
    return int(await db.fetch_val(statement()))


async def test_only_short_reads_after_the_snapshot_run_in_the_event_loop(sqlite: str) -> None:
    async with Database(sqlite) as db:
        for connection in db._backend.readers._all:  # type: ignore[attr-defined]
            connection._conn.create_function("running_thread", 0, threading.get_ident)
        ours = threading.get_ident()

        assert await thread_of(db, SHORT) != ours
        async with reading(db):
            assert await thread_of(db, SHORT) != ours  # it takes the view, for which it may wait
            assert await thread_of(db, SHORT) == ours
            assert await thread_of(db, LONG) != ours
            assert await thread_of(db, SHORT) == ours
        assert await thread_of(db, SHORT) != ours
        async with reading(db):
            assert await thread_of(db, LONG) != ours
            assert await thread_of(db, SHORT) == ours


async def test_reads_of_one_transaction_see_one_snapshot(sqlite: str) -> None:
    count = Statement(sa.select(sa.func.count()).select_from(links))
    async with Database(sqlite) as db, Database(sqlite) as other:
        async with reading(db):
            assert await db.fetch_val(count()) == 0
            async with writing(other):
                await other.execute("INSERT INTO links VALUES (1, 1, 1, 'x', NULL, 'x', NULL)")
            assert await db.fetch_val(count()) == 0
        async with reading(db):
            assert await db.fetch_val(count()) == 1
