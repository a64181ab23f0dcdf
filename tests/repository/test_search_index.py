"""The search index: up to date, intact, repaired, and the same on both databases."""

import asyncio
import random
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import direct_writes
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.domain.services.event import Level
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.search import index, index_state
from lamplighter.repository.services import events
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of
from lamplighter.repository.store.index_schema import TRIGGERS
from lamplighter.repository.upkeep import maintained
from lamplighter.repository.upkeep.database_state import inspect_file
from lamplighter.usecases.search.session_search import find

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
THINGS = (
    *("disk", "pool", "cache", "backup", "proxy", "token"),
    *("queue", "mirror", "router", "volume", "session", "cluster"),
)
WHAT = (
    *("fails", "restarts", "hangs", "grows", "leaks"),
    *("expires", "rotates", "waits", "answers", "retries"),
)
HOW = (
    *("slowly", "at-night", "twice", "under_load", "after"),
    *("DEC-0054", "without", "a", "trace", "never", "always"),
)


def texts(count: int) -> list[str]:
    chance = random.Random(3)
    return [
        " ".join(
            (chance.choice(THINGS), chance.choice(WHAT), *chance.sample(HOW, chance.randint(1, 6)))
        )
        for _ in range(count)
    ]


def candidate(text: str, service: str | None = None) -> Candidate:
    return Candidate(
        category=Category.DECISION, service=service, observation=text, tier=0, session_id=None
    )


async def filled(url: str, several: list[str]) -> None:
    async with Database(url) as db, writing(db):
        for number, text in enumerate(several):
            service = f"svc{number % 3}" if number % 2 else None
            await memories.insert(db, candidate(text, service), now=NOON)


async def answers(url: str, queries: list[str]) -> list[list[tuple[int, float]]]:
    async with Database(url) as db:
        found = [
            await find(db, SearchRequest(query=query, limit=50), now=NOON, seconds=10)
            for query in queries
        ]
    return [[(each.row.id, round(each.score, 9)) for each in every.results] for every in found]


def test_every_trigger_exists(url: str) -> None:
    held = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if url.startswith("sqlite")
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    assert sorted(name for (name,) in direct_writes.run(url, held)) == sorted(
        (*TRIGGERS, *maintained.TRIGGERS)
    )


def test_both_databases_return_the_same_results(sqlite: str, postgres_url: str) -> None:
    several = texts(150)
    chance = random.Random(4)
    queries = [" ".join(chance.sample(THINGS + WHAT + HOW, 3)) for _ in range(20)]
    queries += ['"disk fails"', "pool -fails", "service:svc1 disk", "DEC-0054", "type:decision"]

    for url in (sqlite, postgres_url):
        asyncio.run(filled(url, several))

    assert asyncio.run(answers(sqlite, queries)) == asyncio.run(answers(postgres_url, queries))


def test_bulk_updates_are_queued_and_indexed_by_catch_up(url: str) -> None:
    asyncio.run(filled(url, texts(120)))
    direct_writes.run(url, "UPDATE memories SET observation = 'zebra ' || id")

    async def taken() -> tuple[bool, int, bool]:
        async with Database(url) as db:
            before = await index.has_pending(db)
            count = await index.catch_up(db, seconds=30)
            return before, count, await index.has_pending(db)

    assert asyncio.run(taken()) == (True, 120, False)
    assert len(asyncio.run(answers(url, ["zebra"]))[0]) == 50


async def test_pending_events_do_not_count_for_a_search_of_memories_and_pages(
    db: Database,
) -> None:
    async with writing(db):
        await events.insert(db, Level.INFO, "The zebra is striped", source="test", now=NOON)
    assert await index.has_pending(db)

    assert not await index.has_pending(db, [SearchLayer.MEMORY, SearchLayer.PAGE])
    assert not await index.has_pending(db, [SearchLayer.SESSION])
    assert await index.has_pending(db, [SearchLayer.PAGE, SearchLayer.EVENT])


def test_unindexed_existing_rows_are_indexed(url: str) -> None:
    asyncio.run(filled(url, ["The zebra is striped"]))
    direct_writes.run(url, "DELETE FROM terms", "INSERT INTO unindexed (id) VALUES (1)")

    assert [number for number, _ in asyncio.run(answers(url, ["zebra"]))[0]] == [1]


def test_changing_counters_does_not_queue_a_memory_for_indexing(url: str) -> None:
    asyncio.run(filled(url, ["The zebra is striped"]))
    direct_writes.run(url, "UPDATE memories SET access_count = 5, confidence = 0.5, version = 2")

    assert direct_writes.run(url, "SELECT count(*) FROM unindexed") == [(0,)]


def test_damaged_index_is_reported_and_repaired(sqlite: str) -> None:
    asyncio.run(filled(sqlite, texts(60)))
    path: Path = file_of(sqlite)
    assert inspect_file(path).index == ""
    with closing(driver.connect(str(path))) as connection:
        connection.execute("UPDATE terms_index_data SET block = zeroblob(40) WHERE id > 10")

    found = inspect_file(path)
    assert (found.check, "fts5" in found.index) == ("ok", True)
    with pytest.raises(Unavailable, match="lamplighter migrate"):
        asyncio.run(answers(sqlite, ["disk"]))

    assert "fts5" in index_state.repair(sqlite)
    assert inspect_file(path).index == ""
    assert index_state.repair(sqlite) == ""
    assert asyncio.run(answers(sqlite, ["disk fails"]))[0]


def test_repair_restores_missing_triggers_and_indexes_missed_writes(url: str) -> None:
    asyncio.run(filled(url, ["The zebra is striped"]))
    on = "" if url.startswith("sqlite") else " ON memories"
    direct_writes.run(
        url,
        f"DROP TRIGGER memories_changed{on}",
        "UPDATE memories SET observation = 'The okapi is shy'",
    )
    assert asyncio.run(answers(url, ["okapi"])) == [[]]

    assert index_state.repair(url) == "its triggers are missing: memories_changed"
    assert len(asyncio.run(answers(url, ["okapi"]))[0]) == 1
    assert asyncio.run(answers(url, ["zebra"])) == [[]]
