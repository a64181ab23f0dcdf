"""Bring a database to the newest revision; whichever process comes first does it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from lamplighter.assets import MIGRATIONS
from lamplighter.domain.errors import Unavailable
from lamplighter.repository import driver
from lamplighter.repository.database import file_of

LOCK_SUFFIX: Final = ".migrate.lock"


def upgrade(url: str, *, target: str | None = None) -> bool:
    """Migrate to the newest revision (or to `target`); say whether there was anything to do.

    All of it is one transaction under a lock between processes: killed at any
    moment it leaves the database as it was. Alembic is imported only when needed.
    Raises Unavailable when the file cannot be used or is newer than this program.
    """
    path = file_of(url)
    wanted = target or head()
    try:
        if revision(path) == wanted:
            return False
        with _locked(path):
            return _upgrade(path, wanted)
    except (driver.Error, OSError) as error:
        raise Unavailable(_cannot_use(path, error)) from error


def head() -> str:
    """Return the newest revision this program knows."""
    return max(_known())


def revision(path: Path) -> str | None:
    """Return the revision a database file is at; None when it has none yet."""
    if not path.exists():
        return None
    with closing(driver.connect(str(path))) as connection:
        query = "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
        if connection.execute(query).fetchone() is None:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(row[0]) if row else None


def _known() -> list[str]:
    return [path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py")]


def _upgrade(path: Path, wanted: str) -> bool:
    at = revision(path)
    if at is not None and at not in _known():
        raise Unavailable(
            f"{path} was written by a newer Lamplighter (its revision is {at}, the newest known "
            f"here is {head()}). Nothing was changed. Start the newer version."
        )
    if at == wanted:
        return False
    _run_alembic(path, wanted)
    return True


def _run_alembic(path: Path, wanted: str) -> None:
    import sqlalchemy as sa
    from alembic import command
    from alembic.config import Config

    engine = sa.create_engine(
        "sqlite://", creator=lambda: driver.connect(str(path)), poolclass=sa.NullPool
    )

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    config = Config(attributes={})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, wanted)
    engine.dispose()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(f"{path}{LOCK_SUFFIX}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _cannot_use(path: Path, error: Exception) -> str:
    if isinstance(error, driver.DatabaseError) and not isinstance(error, driver.OperationalError):
        return f"{path} is damaged or no database: {error}. Put a backup in its place."
    return (
        f"The database {path} cannot be used: {error}. Lamplighter needs a directory that it may "
        "write to; set LAMPLIGHTER_HOME to another one, or give this user the right to write there."
    )


def revision_of(url: str) -> str | None:
    """Return the revision of the database at an address; None when it has none yet."""
    return revision(file_of(url))
