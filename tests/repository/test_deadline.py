"""A late statement is also cancelled in the database, and the connection stays usable."""

import pytest

from lamplighter.repository import Database
from lamplighter.repository.search.index import Deadline, DeadlineExceeded, time_limit
from lamplighter.repository.store.driver import OperationalError

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000000) "
    "SELECT count(*) AS count FROM n"
)


async def test_statement_after_the_deadline_is_cancelled_and_the_next_one_runs(
    db: Database,
) -> None:
    with pytest.raises(DeadlineExceeded):
        async with time_limit(db, Deadline(0.05)):
            await db.fetch_one(ENDLESS)

    found = await db.fetch_one("SELECT 1 AS one")
    assert found is not None
    assert found["one"] == 1


async def test_other_database_errors_are_not_reported_as_deadline_exceeded(db: Database) -> None:
    with pytest.raises(OperationalError):
        async with time_limit(db, Deadline(5.0)):
            await db.fetch_one("SELECT no_such_column FROM memories")
