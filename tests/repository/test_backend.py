"""The backend for `databases`: whole transactions, also after errors and cancellations."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import databases.core
import pytest
import sqlalchemy as sa
from counting import COUNTER, THINGS, count, empty, whole
from sqlalchemy.dialects.sqlite import pysqlite

from lamplighter.repository import Database, reading, writing
from lamplighter.repository.store import driver
from lamplighter.repository.store.backend import READERS, PooledBackend
from lamplighter.repository.store.database import file_of, run_to_completion, sqlite_url
from lamplighter.repository.upkeep import migrate


async def test_cancelled_readers_are_returned_to_the_pool(plain: Database) -> None:
    slow = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " SELECT count(*) FROM n"
    )
    tasks = [asyncio.create_task(plain.fetch_val(slow)) for _ in range(20)]
    await asyncio.sleep(0.002)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert await plain.fetch_val(slow) == 20_000
    async with asyncio.timeout(30):
        while whole(plain) != (1, READERS):  # noqa: ASYNC110 - cut off, it is rolled back by itself
            await asyncio.sleep(0)


async def test_write_outside_of_writing_fails(plain: Database) -> None:
    with pytest.raises(driver.OperationalError, match="readonly"):
        await plain.execute(sa.update(COUNTER).values(n=7))

    assert await count(plain) == 0
    assert whole(plain) == (1, READERS)


async def test_write_within_reading_fails(plain: Database) -> None:
    with pytest.raises(driver.OperationalError, match="readonly"):
        async with reading(plain):
            await plain.execute(sa.update(COUNTER).values(n=7))

    assert whole(plain) == (1, READERS)


async def test_failing_statement_returns_its_connection_to_the_pool(plain: Database) -> None:
    for _ in range(READERS + 2):
        with pytest.raises(driver.OperationalError, match="no such table"):
            await plain.fetch_all("SELECT * FROM absent")
        with pytest.raises(driver.OperationalError, match="no such table"):
            async with writing(plain):
                await plain.execute("DELETE FROM absent")

    assert whole(plain) == (1, READERS)
    assert await count(plain) == 0


@pytest.mark.parametrize(
    "text",
    ["100 %", "%s %(x)s %%", 'it\'s "quoted"', ":name ?1 @a $b", "back\\slash", "日本\x00語", ""],
)
async def test_special_characters_in_values_are_stored_and_matched_literally(
    plain: Database, text: str
) -> None:
    async with writing(plain):
        await plain.execute(sa.insert(THINGS).values(id=1, text=text))

    assert await plain.fetch_val(sa.select(THINGS.c.text).where(THINGS.c.text == text)) == text
    found = sa.select(THINGS.c.id).where(THINGS.c.text.icontains(text, autoescape=True))
    assert [row["id"] for row in await plain.fetch_all(found)] == [1]


@pytest.mark.parametrize("name", ["with space.db", "100%.db", "a%20b.db", "ü?#&.db", "it's.db"])
async def test_database_path_may_contain_any_characters(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a home %41" / name
    url = sqlite_url(path)
    assert file_of(url) == path

    assert migrate.upgrade(url)
    async with Database(url) as db:
        assert await db.fetch_val("SELECT count(*) FROM memories") == 0

    assert path.read_bytes().startswith(b"SQLite format 3")


async def test_row_is_read_with_the_values_it_was_written_with(plain: Database) -> None:
    row = {
        "id": 5,
        "text": None,
        "flag": True,
        "json": {"a": ["ü", None, 1.5]},
        "at": datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC),
        "weight": 0.7,
    }

    async with writing(plain):
        assert await plain.execute(sa.insert(THINGS).values(**row)) == 1
        returned = await plain.fetch_one(
            sa.update(THINGS).where(THINGS.c.id == 5).values(text="x").returning(THINGS)
        )

    assert dict(returned) == {**row, "text": "x"}
    assert [dict(each) for each in await plain.fetch_all(sa.select(THINGS))] == [
        {**row, "text": "x"}
    ]
    assert await plain.fetch_val("SELECT at FROM things") == "2026-01-01T12:00:00.000005Z"
    assert await plain.fetch_one(sa.select(THINGS).where(THINGS.c.id == 6)) is None
    assert await plain.fetch_val(sa.select(THINGS.c.id).where(THINGS.c.id == 6)) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-01T12:00:00.000000Z", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2026-01-01T12:00:00Z", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2026-01-01 12:00:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2026-01-01T13:00:00+01:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
    ],
)
async def test_stored_time_without_zone_is_read_as_utc(
    plain: Database, text: str, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    __import__("time").tzset()
    try:
        async with writing(plain):
            await plain.execute("INSERT INTO things (id, at) VALUES (1, :at)", {"at": text})

        assert await plain.fetch_val(sa.select(THINGS.c.at)) == at
    finally:
        monkeypatch.undo()
        __import__("time").tzset()


async def test_writing_a_time_without_zone_raises(plain: Database) -> None:
    with pytest.raises(ValueError, match="time zone"):
        async with writing(plain):
            await plain.execute(
                sa.insert(THINGS).values(id=1, at=datetime(2026, 1, 1))  # noqa: DTZ001
            )


async def test_statement_with_other_values_is_compiled_once(plain: Database) -> None:
    backend = plain._backend
    assert isinstance(backend, PooledBackend)

    answers = [
        await plain.fetch_val(sa.select(COUNTER.c.id).where(COUNTER.c.id == number))
        for number in (1, 2, 1)
    ]
    compiled = len(backend.compile.cache)
    await plain.fetch_val(sa.select(COUNTER.c.id).where(COUNTER.c.id == 3))

    assert answers == [1, None, 1]
    assert len(backend.compile.cache) == compiled


async def test_each_commit_with_changes_is_announced_once(url: str) -> None:
    from lamplighter.domain.change import ChangeOp
    from lamplighter.repository.store import changes

    told: list[int] = []
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    async with Database(url, announce=lambda: told.append(1)) as db:
        async with writing(db):
            await changes.append(db, "memory", 1, ChangeOp.CREATED, now=noon)
            async with writing(db):
                await changes.append(db, "memory", 2, ChangeOp.CREATED, now=noon)
            assert told == []
        assert told == [1]

        async with writing(db):
            pass
        async with reading(db):
            await changes.last_seq(db)

    assert told == [1]


async def test_database_closes_while_a_task_still_writes(tmp_path: Path) -> None:
    db = Database(empty(tmp_path / "plain.db"))
    await db.connect()
    inside = asyncio.Event()
    closed = asyncio.Event()

    async def work() -> None:
        async with writing(db):
            inside.set()
            await closed.wait()

    task = asyncio.create_task(work())
    await inside.wait()
    await db.disconnect()
    closed.set()

    with pytest.raises((ValueError, driver.Error)):
        await asyncio.wait_for(task, 10)


async def test_connect_fails_for_a_missing_directory(tmp_path: Path) -> None:
    db = Database(sqlite_url(tmp_path / "nowhere" / "x.db"))
    before = set(threading.enumerate())

    with pytest.raises(driver.OperationalError):
        await db.connect()

    assert not db.is_connected
    begun = [each for each in threading.enumerate() if each not in before and "_conn" in each.name]
    for each in begun:
        await asyncio.to_thread(each.join, 20)
    assert [each.name for each in begun if each.is_alive()] == []


async def test_run_to_completion_finishes_before_raising_the_cancellation() -> None:
    steps: list[str] = []

    async def work() -> None:
        for step in ("one", "two", "three"):
            await asyncio.sleep(0.005)
            steps.append(step)

    task = asyncio.create_task(run_to_completion(work()))
    await asyncio.sleep(0)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.002)
    with pytest.raises(asyncio.CancelledError):
        await task

    assert steps == ["one", "two", "three"]


async def test_run_to_completion_raises_the_error_of_its_work() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_to_completion(work())


def test_internals_of_sqlalchemy_are_unchanged() -> None:
    """Fails with a clear message if SQLAlchemy changes an internal that `backend.py` calls."""
    dialect = pysqlite.dialect(paramstyle="qmark")
    query = sa.select(THINGS).where(THINGS.c.id.in_([1, 2])).where(THINGS.c.at.is_not(None))

    found = query._compile_w_cache(
        dialect=dialect,
        compiled_cache={},
        column_keys=[],
        for_executemany=False,
        schema_translate_map=None,
    )
    compiled, extracted = found[:2]

    given = compiled.construct_params(extracted_parameters=extracted, escape_names=False)
    assert list(given.values()) == [[1, 2]]
    assert compiled.post_compile_params
    assert compiled.literal_execute_params is not None
    assert isinstance(compiled._bind_processors, dict)
    expanded = compiled._process_parameters_for_postcompile(given)
    assert expanded.statement.count("?") == 2
    assert [{**given, **expanded.additional_parameters}[name] for name in expanded.positiontup] == [
        1,
        2,
    ]
    assert isinstance(expanded.processors, dict)
    assert [column[0] for column in compiled._result_columns] == [
        "id",
        "text",
        "flag",
        "json",
        "at",
        "weight",
    ]
    reads = {
        column[0]: column[3]._cached_result_processor(dialect, None)
        for column in compiled._result_columns
    }
    assert reads["id"] is None
    assert reads["flag"](1) is True
    assert reads["json"](json.dumps([1])) == [1]
    assert compiled.__dict__ is not None


def test_internals_of_databases_are_unchanged() -> None:
    """Fails with a clear message if `databases` changes an internal of the backend."""
    assert databases.__version__ == "0.9.0"
    assert "sqlite" in databases.Database.SUPPORTED_BACKENDS
    connection = databases.core.Connection(
        databases.Database("sqlite:///x"), PooledBackend("sqlite:///x")
    )
    assert connection._transaction_stack == []
    assert isinstance(connection._transaction_lock, asyncio.Lock)
    assert hasattr(connection, "_connection")
    transaction = databases.core.Transaction(lambda: connection, False, readonly=True)
    assert transaction._extra_options == {"readonly": True}
    assert transaction._connection is connection
    assert transaction._transaction is None
