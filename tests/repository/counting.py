"""A counter and a table of things, for reads and writes in tests of the backends."""

import asyncio
from pathlib import Path

import sqlalchemy as sa

from lamplighter.repository import Database, writing
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.dialect import NUMBER, Flag, Json, UTCDateTime

_TABLES = sa.MetaData()
COUNTER = sa.Table(
    "counter",
    _TABLES,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("n", NUMBER, nullable=False),
)
THINGS = sa.Table(
    "things",
    _TABLES,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("text", sa.Text),
    sa.Column("flag", Flag),
    sa.Column("json", Json),
    sa.Column("at", UTCDateTime),
    sa.Column("weight", sa.Double),
)
ADD = """
import asyncio, sys
import sqlalchemy as sa
from lamplighter.repository import Database, writing

counter = sa.table("counter", sa.column("id"), sa.column("n"))

async def main(url, times):
    async with Database(url) as db:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(times):
            async with writing(db):
                held = await db.fetch_val(sa.select(counter.c.n))
                await db.execute(sa.update(counter).values(n=held + 1))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
"""`ADD URL TIMES` prints "ready", waits for a line, and reads and then writes TIMES times."""


async def make(db: Database) -> None:
    """Create both tables, with the counter at 0."""
    dialect = db._backend.compile.dialect  # type: ignore[attr-defined]
    async with writing(db):
        for table in (COUNTER, THINGS):
            await db.execute(str(sa.schema.CreateTable(table).compile(dialect=dialect)))
        await db.execute(sa.insert(COUNTER).values(id=1, n=0))


async def count(db: Database) -> int:
    return int(await db.fetch_val(sa.select(COUNTER.c.n)))


async def add(db: Database, how_many: int = 1) -> None:
    """Read and then write, like a use case that decides."""
    held = await count(db)
    await asyncio.sleep(0)
    await db.execute(sa.update(COUNTER).values(n=held + how_many))


def whole(db: Database) -> tuple[int, int]:
    """Return the number of free writers and readers."""
    backend = db._backend
    return backend.writers._free.qsize(), backend.readers._free.qsize()  # type: ignore[attr-defined]


def empty(path: Path) -> str:
    """Create an empty database file and return its address: otherwise only migrations create it."""
    driver.connect(str(path), create=True).close()
    return sqlite_url(path)
