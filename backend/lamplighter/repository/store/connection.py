"""What the connections of both databases have in common, and transactions that end whole."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from databases.core import Connection, Transaction
from databases.interfaces import ConnectionBackend, TransactionBackend
from sqlalchemy.sql import ClauseElement

from lamplighter.repository.store.statements import Row

T = TypeVar("T")
StatementResult = tuple[list[Row], int]
"""The rows of a statement, and how many it touched."""


class RowConnection(ConnectionBackend):
    """What one task has taken: a reader, or the writer within a transaction."""

    @abstractmethod
    async def begin(self, *, readonly: bool) -> None:
        """Begin a transaction on the writer, or on a reader for a steady view."""

    @abstractmethod
    async def undo(self, *statements: str) -> None:
        """Run what undoes a transaction; one that is over already needs nothing."""

    @abstractmethod
    async def run(self, statement: str) -> None:
        """Run a statement that has neither arguments nor rows."""

    @abstractmethod
    async def fetch_all(self, query: ClauseElement) -> list[Row]:  # type: ignore[override]
        """Return all rows."""

    def run_at_once(self, query: ClauseElement) -> StatementResult | None:
        """Run a statement that waits for nothing; None where this one may, and was not run."""
        return None

    async def acquire(self) -> None:
        """Take nothing yet: what is needed shows with the first statement."""

    async def fetch_each(self, queries: Sequence[ClauseElement]) -> list[list[Row]]:
        """Return all rows of each of several queries."""
        return [await self.fetch_all(query) for query in queries]

    async def fetch_one(self, query: ClauseElement) -> Row | None:  # type: ignore[override]
        """Return the first row, or None."""
        rows = await self.fetch_all(query)
        return rows[0] if rows else None

    async def fetch_val(self, query: ClauseElement, column: Any = 0) -> Any:
        """Return one value of the first row, or None."""
        return value_of(await self.fetch_all(query), column)

    def iterate(self, query: ClauseElement) -> AsyncGenerator[Row, None]:
        """Refuse: a cursor held open across awaits keeps what is old from being cleared away."""
        raise TypeError("Fetch a page of rows instead of holding a cursor open.")

    def transaction(self) -> "RowTransaction":
        """Return a transaction on what this task holds."""
        return RowTransaction(self)


def value_of(rows: Sequence[Row], column: Any) -> Any:
    """Return one value of the first row, or None."""
    if not rows:
        return None
    return list(rows[0].values())[column] if isinstance(column, int) else rows[0][column]


class RowTransaction(TransactionBackend):
    """A transaction that waits for other writers, and savepoints within it."""

    def __init__(self, connection: RowConnection) -> None:
        self._connection = connection
        self._savepoint = ""

    async def start(self, is_root: bool, extra_options: dict[Any, Any]) -> None:
        """Begin; `readonly=True` takes a steady view on a reader."""
        if is_root:
            await self._connection.begin(readonly=bool(extra_options.get("readonly")))
            return
        self._savepoint = f"nested_{id(self):x}"
        await self._connection.run(f"SAVEPOINT {self._savepoint}")

    async def commit(self) -> None:
        """Commit, or release the savepoint."""
        await self._connection.run(f"RELEASE {self._savepoint}" if self._savepoint else "COMMIT")

    async def rollback(self) -> None:
        """Roll back to where it began; a full disk may have done so already."""
        name = self._savepoint
        undoing = (f"ROLLBACK TO {name}", f"RELEASE {name}") if name else ("ROLLBACK",)
        await self._connection.undo(*undoing)


class SafeTransaction(Transaction):
    """A transaction that a cancelled task always gives back whole."""

    async def start(self) -> "SafeTransaction":
        """Begin; a cancelled or failed begin leaves nothing taken."""
        connection: Connection = self._connection
        transaction = connection._connection.transaction()
        async with connection._transaction_lock:
            is_root = not connection._transaction_stack
            await connection.__aenter__()
            try:
                await run_to_completion(transaction.start(is_root, self._extra_options))
            except BaseException:
                await connection.__aexit__()
                raise
            self._transaction = transaction
            connection._transaction_stack.append(self)
        return self

    async def commit(self) -> None:
        """Commit to the end even when cancelled meanwhile."""
        await self._end(self._begun.commit)

    async def rollback(self) -> None:
        """Roll back to the end even when cancelled meanwhile."""
        await self._end(self._begun.rollback)

    @property
    def _begun(self) -> TransactionBackend:
        assert self._transaction is not None
        return self._transaction

    async def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        connection: Connection = self._connection
        async with connection._transaction_lock:
            assert connection._transaction_stack[-1] is self
            connection._transaction_stack.pop()
            try:
                await run_to_completion(how())
            finally:
                await connection.__aexit__()
                self._transaction = None


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` even if we are cancelled meanwhile; the cancellation follows after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            break
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()
