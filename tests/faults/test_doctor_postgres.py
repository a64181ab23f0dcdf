"""The doctor on a home with PostgreSQL: problems, and advice."""

import asyncio
import threading
from contextlib import suppress

import httpx2
import pytest
from homes import Home

import direct_writes
from lamplighter.repository import Database, writing
from living import free_port
from postgres_server import PostgresServer

SOUND = 0
SICK = 1


def looked(home: Home, url: str) -> tuple[int, str]:
    home.env["LAMPLIGHTER_DATABASE_URL"] = url
    done = home.run("doctor")
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_a_healthy_database_is_reported_with_its_revision(home: Home, postgres_url: str) -> None:
    status, said = looked(home, postgres_url)

    assert "healthy, revision 00" in said
    assert "SQLite" not in said
    assert status == SOUND, said


def test_an_empty_database_has_no_findings(home: Home, postgres: PostgresServer) -> None:
    status, said = looked(home, postgres.create("hollow"))

    assert "ok   Database hollow at " in said
    assert ": empty" in said
    assert status == SOUND, said


def test_a_missing_server_is_reported_without_the_password(home: Home) -> None:
    status, said = looked(home, f"postgresql://lamp:s3cret@/lamp?host={home.path}")

    assert f"BAD  Database lamp at {home.path}" in said
    assert "Check LAMPLIGHTER_DATABASE_URL" in said
    assert "s3cret" not in said
    assert status == SICK


def test_a_missing_database_is_reported(home: Home, postgres: PostgresServer) -> None:
    status, said = looked(home, postgres.url("absent"))

    assert 'database "absent" does not exist' in said
    assert status == SICK


def test_a_database_that_is_read_only_by_default_is_written(
    home: Home, postgres: PostgresServer, postgres_url: str
) -> None:
    name = Database(postgres_url).url.database
    postgres.ask(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    status, said = looked(home, postgres_url)
    added = home.run("memory", "add", "timing", "Takes 60s")

    assert "healthy, revision 00" in said
    assert status == SOUND, said
    assert added.returncode == 0, added.stderr


def test_a_standby_is_reported(home: Home) -> None:
    server = PostgresServer({"wal_level": "replica"})
    try:
        url = server.create("lamp")
        server.stop()
        (server.data / "standby.signal").touch()
        server.start()

        status, said = looked(home, url)
    finally:
        server.remove()

    assert "the database accepts no writes (a standby)" in said
    assert "a database that this user can write to" in said
    assert status == SICK


def test_a_database_of_a_newer_version_is_reported(home: Home, postgres_url: str) -> None:
    direct_writes.run(postgres_url, "UPDATE alembic_version SET version_num = '9999'")

    status, said = looked(home, postgres_url)

    assert "revision 9999" in said
    assert "Start the Lamplighter version that migrated" in said
    assert status == SICK


def test_a_newest_row_in_the_future_is_reported(home: Home, postgres_url: str) -> None:
    direct_writes.run(
        postgres_url,
        "INSERT INTO changes (entity, entity_id, op, at)"
        " VALUES ('memory', 1, 'created', '2999-01-01T00:00:00.000000Z')",
    )

    status, said = looked(home, postgres_url)

    assert "the newest row 2999-01-01" in said
    assert status == SICK


async def test_a_locked_database_is_reported(home: Home, postgres_url: str) -> None:
    async with Database(postgres_url) as db, writing(db):
        status, said = await asyncio.to_thread(looked, home, postgres_url)

    assert "locked by another program" in said
    assert "pg_locks" in said
    assert status == SICK


@pytest.mark.parametrize("seconds", [0.5])
def test_a_briefly_busy_writer_is_not_reported(
    home: Home, postgres_url: str, seconds: float
) -> None:
    def busy() -> None:
        async def write() -> None:
            async with Database(postgres_url) as db, writing(db):
                began.set()
                await asyncio.sleep(seconds)

        asyncio.run(write())

    began = threading.Event()
    writer = threading.Thread(target=busy)
    writer.start()
    assert began.wait(30)
    status, said = looked(home, postgres_url)
    writer.join(30)

    assert status == SOUND, said


def test_a_user_without_write_permission_is_reported(
    home: Home, postgres: PostgresServer, postgres_url: str
) -> None:
    name = Database(postgres_url).url.database
    postgres.ask(f"CREATE ROLE reader_{name} LOGIN")
    postgres.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_{name}", database=name)

    status, said = looked(home, postgres_url.replace("postgres@", f"reader_{name}@"))

    assert "this user may not write to its tables" in said
    assert status == SICK


def test_a_web_process_without_its_database_is_not_reported_as_foreign(home: Home) -> None:
    server = PostgresServer()
    home.env["LAMPLIGHTER_PORT"] = str(free_port())
    home.env["LAMPLIGHTER_DATABASE_URL"] = url = server.create("away")
    try:
        home.start("web")
        home.until(lambda: answers(home))
        server.stop()
        status, said = looked(home, url)
    finally:
        server.remove()

    assert "answers, but its database is not available" in said
    assert "rejects" not in said
    assert status == SICK


def answers(home: Home) -> bool:
    with suppress(httpx2.HTTPError):
        url = f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}/readyz"
        return httpx2.get(url, timeout=5).status_code == 200
    return False
