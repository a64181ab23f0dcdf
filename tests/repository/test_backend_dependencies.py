"""The internals of other packages that the backend uses: each is unchanged.

A new version of `databases`, SQLAlchemy or aiosqlite that fails here has changed something that
repository/backend.py, pool.py or prepared.py relies on.
"""

import asyncio
import inspect
import re
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import aiosqlite
import pytest
import sqlalchemy as sa
from databases.core import Connection, Transaction
from databases.core import Database as EncodeDatabase
from databases.interfaces import ConnectionBackend, DatabaseBackend, TransactionBackend
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.util import LRUCache

from lamplighter.repository import Database
from lamplighter.repository.store.dialect import UTCDateTime

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "run.in"
PINNED = {"databases": "0.9.0", "sqlalchemy": "2.1.9", "aiosqlite": "0.22.1"}
DIALECT = pysqlite.dialect(paramstyle="qmark")
THINGS = sa.table("things", sa.column("id"), sa.column("at", UTCDateTime))


def parameters(function: Any) -> list[str]:
    """Return the names of a function's parameters."""
    return list(inspect.signature(function).parameters)


def compiled(query: Any) -> tuple[Any, Any]:
    """Compile like the backend; return the compiled statement and its extracted parameters."""
    found, extracted = query._compile_w_cache(
        dialect=DIALECT,
        compiled_cache=LRUCache(10),
        column_keys=[],
        for_executemany=False,
        schema_translate_map=None,
    )[:2]
    return found, extracted


@pytest.mark.parametrize("package", PINNED)
def test_installed_version_matches_the_pinned_version(package: str) -> None:
    pins = dict(re.findall(r"^([a-z]+)(?:\[\w+\])?==([\d.]+)", REQUIREMENTS.read_text(), re.M))

    assert pins[package] == PINNED[package] == version(package)


def test_compile_with_cache_has_the_expected_parameters_and_result() -> None:
    assert parameters(sa.select()._compile_w_cache)[:3] == [
        "dialect",
        "compiled_cache",
        "column_keys",
    ]
    assert {"for_executemany", "schema_translate_map"} < set(
        parameters(sa.select()._compile_w_cache)
    )
    cache: LRUCache[Any, Any] = LRUCache(10)
    for number in (1, 2):
        query = sa.select(THINGS.c.id).where(THINGS.c.id == number)
        found, extracted = query._compile_w_cache(  # type: ignore[call-arg]
            dialect=DIALECT,
            compiled_cache=cache,
            column_keys=[],
            for_executemany=False,
            schema_translate_map=None,
        )[:2]
        given = found.construct_params(extracted_parameters=extracted, escape_names=False)
        assert [given[name] for name in found.positiontup] == [number]
    assert len(cache) == 1


def test_compiled_statement_has_the_expected_placeholders_processors_and_columns() -> None:
    query = sa.select(THINGS.c.id, THINGS.c.at).where(THINGS.c.at == sa.bindparam("when"))
    found, _ = compiled(query)

    assert found.string.count("?") == 1
    assert found.positiontup == ["when"]
    assert list(found._bind_processors) == ["when"]
    assert callable(found._bind_processors["when"])
    assert [column[0] for column in found._result_columns] == ["id", "at"]
    assert found._result_columns[1][3]._cached_result_processor(DIALECT, None) is not None
    assert found._result_columns[0][3]._cached_result_processor(DIALECT, None) is None
    assert (bool(found.post_compile_params), bool(found.literal_execute_params)) == (False, False)
    assert isinstance(found.__dict__, dict), "what the columns are is kept there"


def test_list_of_values_is_expanded_after_compiling() -> None:
    found, extracted = compiled(sa.select(THINGS.c.id).where(THINGS.c.id.in_([4, 5, 6])))
    assert found.post_compile_params

    given = found.construct_params(extracted_parameters=extracted, escape_names=False)
    expanded = found._process_parameters_for_postcompile(given)

    assert expanded.statement.count("?") == 3
    together = {**given, **expanded.additional_parameters}
    assert [together[name] for name in expanded.positiontup] == [4, 5, 6]
    assert isinstance(dict(expanded.processors), dict)


def test_insert_statement_has_is_insert() -> None:
    assert sa.insert(THINGS).is_insert is True
    assert sa.update(THINGS).is_insert is False


def test_transaction_of_databases_has_the_expected_internals() -> None:
    assert parameters(Transaction.__init__) == [
        "self",
        "connection_callable",
        "force_rollback",
        "kwargs",
    ]
    for name in ("start", "commit", "rollback"):
        assert inspect.iscoroutinefunction(getattr(Transaction, name)), name
    source = inspect.getsource(Transaction)
    for name in ("self._connection", "self._transaction", "self._extra_options"):
        assert name in source, f"Transaction no longer has {name}"


async def test_connection_of_databases_has_the_expected_stack_and_locks(db: Database) -> None:
    connection = db.connection()

    assert isinstance(connection, Connection)
    assert connection._transaction_stack == []
    assert isinstance(connection._transaction_lock, asyncio.Lock)
    assert isinstance(connection._connection, ConnectionBackend)
    assert parameters(Connection.__aexit__)[1:] == ["exc_type", "exc_value", "traceback"]
    assert all(
        parameter.default is None
        for parameter in list(inspect.signature(Connection.__aexit__).parameters.values())[1:]
    )
    async with db.transaction() as transaction:
        assert db.connection() is connection, "one task has one connection"
        assert connection._transaction_stack == [transaction]
    assert connection._transaction_stack == []


def test_backend_interface_of_databases_is_unchanged() -> None:
    assert EncodeDatabase.SUPPORTED_BACKENDS["sqlite"].endswith(":SQLiteBackend")
    assert parameters(DatabaseBackend.connection) == ["self"]
    assert parameters(TransactionBackend.start) == ["self", "is_root", "extra_options"]
    wanted = {
        name for name, each in vars(ConnectionBackend).items() if not name.startswith("_") and each
    }
    assert wanted == {
        "acquire",
        "release",
        "fetch_all",
        "fetch_one",
        "fetch_val",
        "execute",
        "execute_many",
        "iterate",
        "transaction",
        "raw_connection",
    }


async def test_connection_of_aiosqlite_has_the_expected_thread_and_queue(tmp_path: Path) -> None:
    assert parameters(aiosqlite.Connection.__init__)[:3] == [
        "self",
        "connector",
        "iter_chunk_size",
    ]
    assert parameters(aiosqlite.Connection._execute)[:2] == ["self", "fn"]
    async with aiosqlite.connect(tmp_path / "x.db") as connection:
        assert isinstance(connection._thread, Thread)
        assert isinstance(connection._tx, SimpleQueue)
        assert connection._conn.in_transaction is connection.in_transaction is False
        assert callable(connection._conn.interrupt)
        assert await connection._execute(lambda: 5) == 5
    connection._thread.join(30)  # it ends by itself, a moment later
    assert not connection._thread.is_alive()


def test_connection_thread_of_aiosqlite_can_be_made_a_daemon() -> None:
    connection = aiosqlite.Connection(lambda: None, 64)  # type: ignore[arg-type,return-value]

    assert not connection._thread.is_alive(), "it starts with the first await"
    connection._thread.daemon = True
