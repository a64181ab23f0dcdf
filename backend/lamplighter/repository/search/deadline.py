"""Reading that ends in time: what is late is given up, on the side of the database too."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lamplighter.repository.store.database import Database
from lamplighter.repository.store.driver import OperationalError


class DeadlineExceeded(Exception):
    """The time is over; partial results stay valid."""


class Deadline:
    """A moment by which an answer is wanted."""

    def __init__(self, seconds: float) -> None:
        self._until = _clock() + seconds

    @property
    def left(self) -> float:
        """How many seconds are left; none when it is over."""
        return max(0.0, self._until - _clock())


@asynccontextmanager
async def time_limit(db: Database, deadline: Deadline) -> AsyncIterator[None]:
    """Read until a deadline; raises Late. An open transaction continues afterwards."""
    if not deadline.left:
        raise DeadlineExceeded
    try:
        async with _bounded(db, deadline.left):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded from error
    except OperationalError as error:
        if db.notifies and _was_cancelled(error):
            raise DeadlineExceeded from error
        raise


@asynccontextmanager
async def _bounded(db: Database, seconds: float) -> AsyncIterator[None]:
    if not db.notifies:  # the statement is interrupted; the connection lives on
        async with asyncio.timeout(seconds):
            yield
        return
    async with db.transaction(readonly=True):  # within another one a savepoint
        await db.execute(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1_000))}")
        yield


def _was_cancelled(error: OperationalError) -> bool:
    from asyncpg import QueryCanceledError  # 3 MB that no process on SQLite needs

    return isinstance(error.__cause__, QueryCanceledError)


def _clock() -> float:
    return asyncio.get_running_loop().time()
