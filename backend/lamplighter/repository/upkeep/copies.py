"""A copy of a whole database as of one moment, and its content."""

import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres, sqlite_url
from lamplighter.repository.upkeep import migrate

if TYPE_CHECKING:
    from lamplighter.repository.upkeep.copies_postgres import PostgresCopier

FILE: Final = "lamplighter.db"
BUSY_SECONDS: Final = 60.0
_TABLES: Final = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    " AND name NOT LIKE 'terms_index%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
)
_LAST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'sessions'"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyContents:
    """The content of a copy: its revision, its rows by table, and the highest session ID.

    The tables are in an order in which their rows can be inserted.
    """

    kind: str
    revision: str
    tables: dict[str, int] = field(default_factory=dict)
    last_session: int = 0


class DamagedCopy(Exception):
    """A copy does not match the copied database."""


def copier(url: str) -> "SqliteCopier | PostgresCopier":
    """Return what copies the database at an address while others use it, and verifies copies."""
    if is_postgres(url):
        from lamplighter.repository.upkeep.copies_postgres import PostgresCopier

        return PostgresCopier(url)
    return SqliteCopier(file_of(url))


@dataclass(frozen=True, slots=True)
class SqliteCopier:
    """Copies a SQLite file by VACUUM INTO: as of one moment, without blocking writers."""

    path: Path
    kind = "sqlite"

    def copy(self, directory: Path) -> CopyContents:
        """Copy the database into a directory."""
        with closing(driver.connect(str(self.path), busy_seconds=BUSY_SECONDS)) as connection:
            connection.execute("VACUUM INTO ?", (str(directory / FILE),))
        return _counted(directory / FILE)

    def prove(self, directory: Path, copied: CopyContents) -> None:
        """Restore a copy temporarily and compare it with the copied content; raises DamagedCopy."""
        with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
            path = Path(scratch) / FILE
            shutil.copyfile(directory / FILE, path)
            if _counted(path) != copied:
                raise DamagedCopy("the restored database does not contain the copied rows")
            check(path)
            migrate.upgrade(sqlite_url(path))
            check(path)

    def last_session(self) -> int:
        """Return the highest session ID of the database; 0 if the file cannot be read."""
        if not self.path.exists():
            return 0
        try:
            with closing(driver.connect(str(self.path))) as connection:
                return int(connection.execute(_LAST).fetchone()[0])
        except driver.Error:
            return 0  # damaged, or not a database: the home also stores the number


def _counted(path: Path) -> CopyContents:
    with closing(driver.connect(str(path))) as connection:
        names = [row[0] for row in connection.execute(_TABLES)]
        return CopyContents(
            kind=SqliteCopier.kind,
            revision=migrate.revision(path) or "",
            tables={
                name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
                for name in names
            },
            last_session=connection.execute(_LAST).fetchone()[0],
        )


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
