"""The database of a home for one command that only reads: opened as it is where nothing is missing.

`home` prepares a home, tells other processes of changes and knows how to run sessions. None of
that is part of a reading command, so neither are the modules that do it.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Busy, LamplighterError
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.upkeep import migrate
from lamplighter.serve import home_lock
from lamplighter.serve.home_lock import JOURNAL
from lamplighter.serve.local.address import IDENTITY

T = TypeVar("T")


def run(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    """Return what a reading command finds in the database; raises Busy, Unavailable."""
    if not _is_ready(settings):
        from lamplighter.serve import home  # a first start, an update or a restore that was cut off

        home.prepare(settings)
    return asyncio.run(_run(settings, work))


def _is_ready(settings: Settings) -> bool:
    """Whether the home is whole and its database is of this version."""
    if (settings.home / JOURNAL).exists() or not os.access(settings.home, os.W_OK | os.X_OK):
        return False
    try:
        return migrate.revision_of(settings.database_url) == migrate.head()
    except LamplighterError:
        return False


def _identity(settings: Settings) -> str:
    """Return the identity of the home, whose notebook is read; empty before it has one."""
    path = settings.home / IDENTITY
    return path.read_text().strip() if path.exists() else ""


async def _run(settings: Settings, work: Callable[[Database], Awaitable[T]]) -> T:
    with home_lock.shared(settings.home):
        db = Database(settings.database_url)
        db.home_id = _identity(settings)
        try:
            await db.connect()
        except driver.OperationalError as error:
            raise migrate.cannot_use(settings.database_url, error) from error
        try:
            return await work(db)
        except (driver.OperationalError, TimeoutError) as error:
            raise Busy(f"The database is not available ({error}). Try again.") from error
        finally:
            await db.disconnect()
