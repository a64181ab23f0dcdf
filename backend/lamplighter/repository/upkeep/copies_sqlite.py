"""Copies of a SQLite file."""

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.repository.upkeep.copies import CopyContents, DamagedCopy

FILE: Final = "lamplighter.db"
BUSY_SECONDS: Final = 60.0
_TABLES: Final = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    " AND name NOT LIKE 'terms_index%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
)


_LAST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'sessions'"


class SqliteCopier:
    """Copies a SQLite file by VACUUM INTO: as of one moment, without blocking writers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def copy(self, directory: Path) -> CopyContents:
        """Copy the database into a directory."""
        with closing(driver.connect(str(self._path), busy_seconds=BUSY_SECONDS)) as connection:
            connection.execute("VACUUM INTO ?", (str(directory / FILE),))
        return counted(directory / FILE)

    def prove(self, directory: Path, copied: CopyContents) -> None:
        """Restore a copy temporarily and compare it with the copied content; raises DamagedCopy."""
        with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
            path = Path(scratch) / FILE
            shutil.copyfile(directory / FILE, path)
            if counted(path) != copied:
                raise DamagedCopy("the restored database does not contain the copied rows")
            check(path)
            migrate.upgrade(sqlite_url(path))
            check(path)


def counted(path: Path) -> CopyContents:
    """Return the content of a database file."""
    with closing(driver.connect(str(path))) as connection:
        names = [row[0] for row in connection.execute(_TABLES)]
        return CopyContents(
            kind="sqlite",
            revision=migrate.revision(path) or "",
            tables={
                name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
                for name in names
            },
            last_session=connection.execute(_LAST).fetchone()[0],
        )


def last_session(path: Path) -> int:
    """Return the highest session ID of a database file; 0 if the file cannot be read."""
    try:
        with closing(driver.connect(str(path))) as connection:
            return int(connection.execute(_LAST).fetchone()[0])
    except driver.Error:
        return 0  # damaged, or not a database: the home also stores the number


def check(path: Path) -> None:
    """Check every page and every reference of a database file; raises DamagedCopy."""
    with closing(driver.connect(str(path))) as connection:
        [whole] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if whole != "ok":
            raise DamagedCopy(f"the database is damaged: {whole}")
        lost = connection.execute("PRAGMA foreign_key_check").fetchone()
        if lost is not None:
            raise DamagedCopy(
                f"a row of {lost[0]} refers to a row of {lost[2]} that does not exist"
            )
