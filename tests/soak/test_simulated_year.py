"""A year at 60 s with 30 services stays below 500 MB, and no row of it is lost."""

import asyncio
import sys
from pathlib import Path

from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.services.check_folding import CheckRetention
from simulated_year import Life, live, rows_to_store, stored_rows

LIMIT_BYTES = 500 * 2**20


def test_a_year_stays_below_500_megabytes_and_loses_no_row(tmp_path: Path) -> None:
    path = tmp_path / "lamplighter.db"
    life, results, retention = Life(days=365), CheckRetention(), Retention()
    migrate.upgrade(sqlite_url(path))

    async def year() -> dict[str, int]:
        async with Database(sqlite_url(path)) as db:
            await live(db, life, results, retention)
            return await stored_rows(db)

    stored = asyncio.run(year())

    size = sum(each.stat().st_size for each in tmp_path.iterdir())
    sys.stdout.write(f"A year takes {size / 2**20:.0f} MB: {stored}\n")
    assert stored == rows_to_store(life, results, retention)
    assert size <= LIMIT_BYTES
