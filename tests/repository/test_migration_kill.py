"""A migration killed before any of its statements leaves the database unchanged.

`swept` takes the address of a database and a function that reads its content: another kind of
database can run the same test.
"""

import json
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import nursery
from lamplighter import assets
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, sqlite_url
from lamplighter.repository.upkeep import migrate
from thorough import ALL, PART

DRIVER = Path(__file__).parents[1] / "fakes" / "migration_driver.py"
REVISIONS = sorted(assets.known_revisions())
STEPS = REVISIONS if ALL else [*REVISIONS[: -PART : 2 * PART], *REVISIONS[-PART:]]
EACH = 1 if ALL else PART
ONE_OF = re.compile(r"\b(\w+) IN \('(\w+)'")
STAMP = "2026-01-01T12:00:00.000000Z"


def content(address: str) -> dict[str, list[Any]]:
    """Return all rows of a SQLite database, its schema, and the results of its integrity checks."""
    with closing(driver.connect(str(file_of(address)))) as connection:

        def ask(query: str) -> list[Any]:
            return [tuple(row) for row in connection.execute(query)]

        schema = ask("SELECT name, type, sql FROM sqlite_master ORDER BY type, name")
        rows = {name: ask(f"SELECT * FROM {name}") for name, kind, _ in schema if kind == "table"}
        sound = ask("PRAGMA integrity_check") + ask("PRAGMA foreign_key_check")
        return {"sound": sound, "schema": schema, **rows}


def seed(address: str) -> int:
    """Insert a row into each empty table; return the number of tables with rows."""
    with closing(driver.connect(str(file_of(address)))) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")  # each row is number 1, whatever comes first
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sq%'"
        tables = connection.execute(query).fetchall()
        for table, sql in tables:
            if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0:
                _insert(connection, table, dict(ONE_OF.findall(sql)))
        return len(tables)


def _insert(connection: driver.Connection, table: str, words: dict[str, str]) -> None:
    columns = connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
    values = [words.get(name) or _value(name, kind) for name, kind in columns]
    names = ", ".join(f'"{name}"' for name, _ in columns)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)


def _value(name: str, kind: str) -> Any:
    if name == "at" or name.endswith("_at"):
        return STAMP
    return 1 if kind.upper() in ("INTEGER", "REAL", "DOUBLE", "FLOAT") else "1"


def swept(address: str, target: str, read: Callable[[str], Any], each: int = 1) -> list[str]:
    """Migrate, killed before each n-th statement in turn; return these statements.

    After each kill the database must have its previous content; at the end it is at its target.
    """
    before = read(address)
    killed: list[str] = []
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    driving = nursery.python(str(DRIVER), address, target, str(each), **pipes, text=True)
    try:
        assert driving.stdin is not None
        assert driving.stdout is not None
        assert driving.stderr is not None
        while (said := driving.stdout.readline()) and json.loads(said) != "done":
            told = json.loads(said)
            killed.append(told["before"])
            assert read(address) == before, f"killed before statement {told}"
            driving.stdin.write("\n")
            driving.stdin.flush()
        driving.stdin.close()
        assert driving.wait(30) == 0, driving.stderr.read()
        assert said, driving.stderr.read()
    finally:
        driving.kill()
        driving.wait()
        for pipe in (driving.stdout, driving.stderr):
            pipe.close()  # type: ignore[union-attr]
    return killed


@pytest.mark.parametrize("target", STEPS)
def test_migration_step_killed_before_any_statement_changes_nothing(
    tmp_path: Path, target: str
) -> None:
    address = sqlite_url(tmp_path / "x.db")
    older = [each for each in REVISIONS if each < target]
    if older:
        migrate.upgrade(address, target=older[-1])
        assert seed(address) > 1
    else:
        file_of(address).touch()

    killed = swept(address, target, content)

    assert killed[0].startswith("BEGIN IMMEDIATE"), killed
    assert killed[-1] == "COMMIT", killed
    assert len(killed) >= 4, killed
    assert migrate.revision_of(address) == target
    assert content(address)["sound"] == [("ok",)]


def test_full_migration_killed_before_any_statement_changes_nothing(
    tmp_path: Path, migrated: Path
) -> None:
    address = sqlite_url(tmp_path / "x.db")
    file_of(address).touch()

    killed = swept(address, migrate.newest_revision(), content, EACH)

    assert len(killed) > 40 / EACH, f"only {len(killed)} statements: the test shows nothing"
    assert content(address) == content(sqlite_url(migrated))
