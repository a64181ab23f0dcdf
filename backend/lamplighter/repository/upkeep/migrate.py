"""Migration of a database to the newest revision, by whichever process comes first."""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from lamplighter.assets import MIGRATIONS, known_revisions
from lamplighter.assets import newest_revision as newest_revision
from lamplighter.domain.errors import Busy, LamplighterError, Unavailable
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import Database, file_of, is_postgres

if TYPE_CHECKING:
    from lamplighter.repository.upkeep.migrate_postgres import PostgresDatabase

LOCK_SUFFIX: Final = ".migrate.lock"
T = TypeVar("T")

MigrationTarget: TypeAlias = "SqliteFile | PostgresDatabase"
MigrationSteps = Callable[[Any], None]
"""The work on a connection of SQLAlchemy within the one transaction of a migration."""


def upgrade(url: str, *, target: str | None = None, patience: float = 0.0) -> bool:
    """Migrate to the newest revision (or to `target`); return whether there was anything to do.

    A PostgreSQL server that is starting is waited for, up to `patience` seconds. The migration is
    one transaction under a lock between processes: killed at any moment, it leaves the database
    unchanged. Alembic is imported only when needed. Raises Unavailable if the database cannot be
    used or is newer than this program.
    """
    place, target_revision = _migration_target(url, patience), target or newest_revision()
    did = False

    def steps(connection: Any) -> None:
        nonlocal did
        at = _read(connection)
        _check_revision(place, at)
        if at != target_revision:
            did = True
            _run_alembic(connection, target_revision)

    try:
        at = place.revision()
        _check_revision(place, at)
        if at != target_revision:
            place.migrate(steps)
    except (driver.Error, OSError) as error:
        raise _unusable(place, error) from error
    return did


def revision_of(url: str) -> str | None:
    """Return the revision of the database at an address; None before its first migration.

    Raises Unavailable if the database cannot be used.
    """
    place = _migration_target(url)
    try:
        return place.revision()
    except (driver.Error, OSError) as error:
        raise _unusable(place, error) from error


def read_current(url: str, read: Callable[[Database], Awaitable[T]]) -> T | None:
    """Return what a function reads; None if the database is not usable or of another revision."""

    async def work() -> T:
        async with Database(url) as db:
            return await read(db)

    with suppress(LamplighterError, driver.Error, OSError):
        if revision_of(url) == newest_revision():
            return asyncio.run(work())
    return None


def cannot_use(url: str, error: Exception) -> Unavailable:
    """Return why the database at an address cannot be used, and what to do."""
    return _unusable(_migration_target(url), error)


def revision(path: Path) -> str | None:
    """Return the revision of a database file; None before its first migration."""
    return SqliteFile(path).revision()


class SqliteFile:
    """A SQLite file; a lock beside it keeps other processes out during a migration."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def revision(self) -> str | None:
        """Return the current revision; None before the first migration."""
        if not self._path.exists() or not self._path.stat().st_size:  # opening would create a file
            return None
        with closing(driver.connect(str(self._path))) as connection:
            query = "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
            if connection.execute(query).fetchone() is None:
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return str(row[0]) if row else None

    def migrate(self, steps: MigrationSteps) -> None:
        """Run the steps in one transaction; other processes wait until it ends."""
        import sqlalchemy as sa

        with self._locked():
            engine = sa.create_engine(
                "sqlite://",
                creator=lambda: driver.connect(str(self._path), create=True),
                poolclass=sa.NullPool,
            )

            @sa.event.listens_for(engine, "begin")
            def begin(connection: Any) -> None:
                connection.exec_driver_sql("BEGIN IMMEDIATE")

            with engine.begin() as connection:
                steps(connection)
            engine.dispose()

    def cannot_use(self, error: Exception) -> str:
        """Describe the problem and its remedy."""
        damaged = isinstance(error, driver.DatabaseError)
        if damaged and not isinstance(error, driver.OperationalError):
            return f"{self} is damaged or not a database: {error}. Restore a backup."
        if driver.is_busy(error):
            return f"The database {self} is locked by another program. Try again in a moment."
        return (
            f"The database {self} cannot be used: {error}. Lamplighter needs a writable "
            "directory with free space. Set LAMPLIGHTER_HOME to another directory, or give this "
            "user write permission."
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{self._path}{LOCK_SUFFIX}"
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _unusable(place: MigrationTarget, error: Exception) -> Unavailable:
    kind = Busy if driver.is_temporary(error) else Unavailable
    return kind(place.cannot_use(error))


def _migration_target(url: str, patience: float = 0.0) -> MigrationTarget:
    if is_postgres(url):
        from lamplighter.repository.upkeep.migrate_postgres import PostgresDatabase

        return PostgresDatabase(url, patience=patience)
    return SqliteFile(file_of(url))


def _check_revision(place: MigrationTarget, at: str | None) -> None:
    if at is not None and at not in known_revisions():
        raise Unavailable(
            f"{place} was written by a newer Lamplighter (its revision is {at}; this version knows "
            f"revisions up to {newest_revision()}). Nothing was changed. Start the newer version."
        )


def steps_to(target: str) -> MigrationSteps:
    """Return the steps that bring the database of a connection to a revision."""
    return lambda connection: _run_alembic(connection, target)


def _read(connection: Any) -> str | None:
    from alembic.runtime.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision()


def _run_alembic(connection: Any, expected: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, expected)
