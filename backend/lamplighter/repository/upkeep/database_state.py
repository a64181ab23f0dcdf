"""State of a database file, read without changing it, for the doctor."""

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lamplighter.repository.search.index_state import check_file
from lamplighter.repository.store import driver
from lamplighter.repository.store.index_schema import is_of_index

LOCKED_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class DatabaseCondition:
    """The findings: `check` is "ok" or the first damage, `newest` the time of the last change.

    `index` is the problem of the search index, empty if there is none.
    """

    check: str
    locked: bool
    newest: datetime | None
    index: str = ""


def inspect_file(path: Path) -> DatabaseCondition:
    """Inspect a database file; raises the driver's error if the file cannot be read."""
    with closing(driver.connect(str(path), busy_seconds=LOCKED_SECONDS)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(100)").fetchall()]
        check = next((each for each in found if not is_of_index(each)), "ok")
        newest = _newest(connection) if check == "ok" else None
        index = check_file(connection) if check == "ok" else ""
        return DatabaseCondition(check, _locked(connection), newest, index)


def _newest(connection: driver.Connection) -> datetime | None:
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'changes'"
    if not connection.execute(query).fetchone()[0]:
        return None
    row = connection.execute("SELECT at FROM changes ORDER BY seq DESC LIMIT 1").fetchone()
    return datetime.fromisoformat(row[0]).astimezone(UTC) if row else None


def _locked(connection: driver.Connection) -> bool:
    """Whether writes are blocked now; taking and releasing the lock writes nothing."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except driver.OperationalError as error:
        if "locked" in str(error):
            return True
        raise
    connection.execute("ROLLBACK")
    return False
