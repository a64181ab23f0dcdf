"""The JSON of stored rows equals that of the memories that they represent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import direct_writes
from lamplighter.domain.memory.memory import Candidate, Category, Source, Trust
from lamplighter.formats import serialize
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import json_rows, memories
from lamplighter.repository.memory.memories import MemoryFilter, Order, Sort

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FILTERS = (
    MemoryFilter(),
    MemoryFilter(q="takes"),
    MemoryFilter(service="jellyfin", active=True),
    MemoryFilter(ids=(1, 3, 5)),
    MemoryFilter(operational=False, project="ops"),
)


async def several(db: Database) -> None:
    rows: list[dict[str, Any]] = [
        {"service": "jellyfin", "category": Category.TIMING, "observation": "Takes 60 s"},
        {"service": None, "category": Category.LEARNING, "observation": 'A "quote"\n\u2028é'},
        {"service": "caddy", "category": Category.DECISION, "observation": "x", "tags": ("a", "b")},
        {"service": "caddy", "category": Category.TIMING, "observation": "y", "confidence": 0.1},
        {"service": "db", "category": Category.BEHAVIOR, "observation": "takes", "title": "T"},
    ]
    for number, row in enumerate(rows):
        candidate = Candidate(
            **row, tier=0, session_id=None, source=Source.OPERATOR, trust=Trust.TRUSTED
        )
        async with writing(db):
            await memories.insert(db, candidate, now=NOON + timedelta(minutes=number))


@pytest.mark.parametrize("sort", Sort)
async def test_json_rows_equal_the_serialized_memories(db: Database, sort: Sort) -> None:
    await several(db)

    for wanted in FILTERS:
        for backward in (False, True):
            order, position, pages = Order(sort, backward=backward), None, 0
            while pages == 0 or position is not None:
                asked: dict[str, Any] = {"limit": 2, "position": position}
                rows = await json_rows.page(db, wanted, order, **asked)
                values = await memories.page(db, wanted, sort=order, **asked)
                assert [dict(each) for each in rows.items] == [
                    serialize.memory(each) for each in values.items
                ]
                assert [list(each) for each in rows.items] == [
                    list(serialize.memory(each)) for each in values.items
                ]
                assert rows.position == values.position
                position, pages = rows.position, pages + 1


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-01 12:00:00.000000Z",
        "2026-W01-4T12:00:00.000000Z",
        "2026-01-01T12:00:00,000000Z",
        "2026-01-01T13:00:00.000000+01:00",
        "2026-01-01T12:00:00",
        "20260101T120000Z",
    ],
)
async def test_json_rows_normalize_times_written_outside_the_app(
    url: str, db: Database, moment: str
) -> None:
    await several(db)
    direct_writes.run(url, f"UPDATE memories SET updated_at = '{moment}' WHERE id = 1")

    rows = await json_rows.page(db, MemoryFilter(ids=(1,)), Order(Sort.CREATED), limit=1)

    assert rows.items[0]["updated_at"] == "2026-01-01T12:00:00.000000Z"


async def test_repeated_page_includes_memories_written_in_between(db: Database) -> None:
    await several(db)
    wanted, order = MemoryFilter(service="caddy"), Order(Sort.CREATED)
    before = [each["id"] for each in (await json_rows.page(db, wanted, order, limit=9)).items]

    async with writing(db):
        await memories.insert(
            db,
            Candidate(
                service="caddy", category=Category.TIMING, observation="z", tier=1, session_id=None
            ),
            now=NOON,
        )

    after = await json_rows.page(db, wanted, order, limit=9)
    assert [each["id"] for each in after.items] == [6, *before]
    assert await memories.count(db, wanted) == 3


WRONG = (
    ("observation", "x'00'"),
    ("category", "'weather'"),
    ("confidence", "2.5"),
    ("tags", "'{}'"),
    ("metadata", "'['"),
    ("created_at", "'yesterday'"),
    ("created_at", "'2026-13-01T00:00:00.000000Z'"),
)


@pytest.mark.parametrize(("column", "value"), WRONG)
async def test_page_omits_only_the_unreadable_row(
    url: str, db: Database, column: str, value: str
) -> None:
    await several(db)
    if column == "observation" and db.notifies:
        pytest.skip("PostgreSQL stores no bytes in a text")
    direct_writes.run(url, f"UPDATE memories SET {column} = {value} WHERE id = 3")

    for limit in (2, 9):
        wanted: dict[str, Any] = {"limit": limit, "position": None}
        rows = await json_rows.page(db, MemoryFilter(), Order(Sort.CREATED), **wanted)
        values = await memories.page(db, MemoryFilter(), sort=Sort.CREATED, **wanted)
        assert [each["id"] for each in rows.items] == [5, 4, 2, 1][:limit]
        assert [dict(each) for each in rows.items] == list(map(serialize.memory, values.items))
        assert rows.position == values.position
