"""Writes that a test makes without the product, on both databases."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import asyncpg

from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.repository.upkeep import migrate


def run(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run SQL in a separate connection; return the rows of the last statement."""
    if is_postgres(url):
        return _meanwhile(_ask(url, statements))
    with closing(driver.connect(str(file_of(url)))) as connection:
        rows: list[Any] = []
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        return [tuple(row) for row in rows]


def refuse(url: str, when: str, message: str, *, only_if: str = "true") -> None:
    """Let the database refuse the operation `BEFORE … ON table` while a condition holds."""
    if is_postgres(url):
        run(
            url,
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF {only_if} THEN RAISE EXCEPTION '{message}'; END IF; "
            "IF TG_OP = 'DELETE' THEN RETURN old; END IF; RETURN new; END $$",
            f"CREATE TRIGGER refuse BEFORE {when} FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        return
    condition = f"SELECT RAISE(ABORT, '{message}')"
    run(url, f"CREATE TRIGGER refuse BEFORE {when} WHEN {only_if} BEGIN {condition}; END")


def allow(url: str, table: str) -> None:
    """Let the database accept the refused operations again."""
    run(url, f"DROP TRIGGER refuse ON {table}" if is_postgres(url) else "DROP TRIGGER refuse")


def delay(url: str, when: str) -> None:
    """Let each row of `OPERATION ON table` take some milliseconds, until the trigger is dropped."""
    if is_postgres(url):
        run(
            url,
            "CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_sleep(0.003); RETURN NULL; END $$",
            f"CREATE TRIGGER delay AFTER {when} FOR EACH ROW EXECUTE FUNCTION delay()",
        )
        return
    run(url, f"CREATE TRIGGER delay AFTER {when} BEGIN SELECT hex(randomblob(400000)); END")


def remove_delay(url: str, table: str) -> None:
    """Remove the delay of a table."""
    run(url, f"DROP TRIGGER delay ON {table}" if is_postgres(url) else "DROP TRIGGER delay")


def noted(url: str) -> list[tuple[Any, ...]]:
    """Migrate two indexed memories to the newest revision; return the unindexed rows."""
    row = (
        "INSERT INTO memories (id, category, observation, confidence, active, created_at,"
        " updated_at, tier) VALUES ({}, 'timing', '{}', 0.9, 1, '2026-01-01T12:00:00.000000Z',"
        " '2026-01-01T12:00:00.000000Z', 2)"
    )
    run(url, row.format(41, "Disk is \N{FIRE}"), row.format(42, "Disk is hot"))
    run(url, "DELETE FROM unindexed")
    migrate.upgrade(url)
    return run(url, "SELECT id FROM unindexed ORDER BY id")


async def _ask(url: str, statements: tuple[str, ...]) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        rows: list[Any] = []
        for statement in statements:
            rows = await connection.fetch(statement)
        return [tuple(row) for row in rows]
    finally:
        await connection.close()


def _meanwhile(work: Coroutine[Any, Any, list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Run the action in another thread: the test may have its own event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result(60)
