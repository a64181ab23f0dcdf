"""Lists of knowledge: around a memory, newest first, and counted.

The ends of some names are the numbers of the cases.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.knowledge import KnowledgeStats, MemoryTimeline
from lamplighter.domain.memory.memory import Candidate, Category, Memory, Source
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import client_sessions, projects
from lamplighter.repository.memory import knowledge as observations
from lamplighter.repository.memory import knowledge as recency
from lamplighter.repository.memory import memories
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.usecases.memory import knowledge

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
POOL = Candidate(
    category=Category.CONFIG,
    service=None,
    observation="20",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    project="shop",
)
SLOW = replace(
    POOL, category=Category.TIMING, service="jellyfin", source=Source.MARKER, project="ops"
)


async def insert(db: Database, *, at: datetime = NOON, by: Candidate = POOL, **more: Any) -> Memory:
    async with writing(db):
        return await memories.insert(db, replace(by, **more), now=at)


async def opened(db: Database, name: str, project: str = "shop") -> Session:
    async with writing(db):
        return await client_sessions.insert(
            db, name, project=project, agent=None, directory=None, now=NOON
        )


async def test_timeline_lists_neighbors_by_id_130(db: Database) -> None:
    one, two, focus, four, five = [await insert(db) for _ in range(5)]

    found = await knowledge.timeline(db, focus.id, before=2, after=2)

    assert found == MemoryTimeline((one, two), focus, (four, five))
    near = await knowledge.timeline(db, focus.id, before=1, after=0)
    assert near == MemoryTimeline((two,), focus, ())
    first = await knowledge.timeline(db, one.id, before=5, after=1)
    assert first == MemoryTimeline((), one, (two,))


async def test_timeline_of_a_session_memory_lists_memories_of_that_session(db: Database) -> None:
    mine, other = await opened(db, "mine"), await opened(db, "other")
    first = await insert(db, session_id=mine.id)
    await insert(db, session_id=other.id)
    await insert(db)
    gone = await insert(db, session_id=mine.id)
    await knowledge.withdraw_memory(db, gone.id, now=NOON)
    await insert(db, by=SLOW, session_id=mine.id)
    last = await insert(db, session_id=mine.id, project="another")

    found = await knowledge.timeline(db, first.id, before=9, after=9)

    assert found == MemoryTimeline((), first, (last,))
    with pytest.raises(NotFound):
        await knowledge.timeline(db, gone.id, before=1, after=1)


async def test_timeline_without_session_lists_memories_of_the_project(db: Database) -> None:
    first = await insert(db)
    await insert(db, project="another")
    mine = await insert(db, session_id=(await opened(db, "mine")).id)

    assert (await knowledge.timeline(db, first.id, before=9, after=9)).after == (mine,)


async def test_stats_count_sessions_and_knowledge_by_project_and_category_128(db: Database) -> None:
    assert await projects.stats(db) == KnowledgeStats(
        sessions=0, observations=0, by_category={}, by_project={}, projects=()
    )
    for name, project in (("a", "shop"), ("b", "desk")):
        by = await opened(db, name, project)
        await insert(db, project=project, session_id=by.id)

    found = await projects.stats(db)

    assert (found.sessions, found.observations, found.projects) == (2, 2, ("desk", "shop"))
    assert found.by_project == {"desk": 1, "shop": 1}
    assert found.by_category == {"config": 2}


async def test_stats_exclude_inactive_and_operational_memories(db: Database) -> None:
    await insert(db, by=SLOW)
    gone = await insert(db)
    await knowledge.withdraw_memory(db, gone.id, now=NOON)
    await opened(db, "a", "empty")

    found = await projects.stats(db)

    assert (found.sessions, found.observations, found.projects) == (1, 0, ("empty",))


async def test_newest_in_project_lists_project_and_global_memories(db: Database) -> None:
    old = await insert(db, scope="global", project="desk")
    new = await insert(db, at=NOON + timedelta(hours=2))
    middle = await insert(db, at=NOON + timedelta(hours=1), scope="global")
    await insert(db, project="desk", at=NOON + timedelta(hours=3))
    await insert(db, by=SLOW, at=NOON + timedelta(hours=3))
    gone = await insert(db, at=NOON + timedelta(hours=4))
    await knowledge.withdraw_memory(db, gone.id, now=NOON)

    assert await recency.newest_in_project(db, "shop", limit=9, now=NOON) == [new, middle, old]
    assert await recency.newest_in_project(db, "shop", limit=2, now=NOON) == [new, middle]
    assert await recency.newest_in_project(db, "shop", without=[new.id], limit=1, now=NOON) == [
        middle
    ]
    assert await recency.newest_in_project(db, "shop", limit=0, now=NOON) == []


async def test_recent_lists_the_newest_memories_that_match_the_filters(db: Database) -> None:
    wide = await insert(db, scope="global")
    fix = await insert(db, category=Category.BUGFIX)
    other = await insert(db, project="desk")

    assert await recency.recent(db, limit=9) == [other, fix, wide]
    assert await recency.recent(db, project="shop", limit=1) == [fix]
    assert await recency.recent(db, project="shop", scope="global", limit=9) == [wide]
    assert await recency.recent(db, category=Category.BUGFIX, limit=9) == [fix]


@pytest.mark.parametrize(
    ("table", "where", "index"),
    [
        ("memories", observations.ACTIVE_UNINDEXED, "idx_memories_known"),
        (
            "memories",
            f"{observations.ACTIVE_UNINDEXED} AND project = 'shop'",
            "idx_memories_project",
        ),
        ("memories", f"{observations.ACTIVE_UNINDEXED} AND scope = 'global'", "idx_memories_scope"),
        ("sessions", "trigger = 'client'", "idx_sessions_clients"),
        ("sessions", "trigger = 'client' AND project = 'shop'", "idx_sessions_client_project"),
    ],
)
async def test_newest_rows_by_id_are_read_from_an_index(
    db: Database, url: str, table: str, where: str, index: str
) -> None:
    """Also on PostgreSQL, once it knows the sizes of its tables: this test switches sorting off."""
    asked = f"SELECT * FROM {table} WHERE {where} ORDER BY id DESC LIMIT 9"
    if is_postgres(url):
        async with writing(db):
            await db.execute(sa.text("SET LOCAL enable_sort = off"))
            await db.execute(sa.text("SET LOCAL enable_seqscan = off"))
            rows = await db.fetch_all(sa.text(f"EXPLAIN {asked}"))
        plan = str([dict(row) for row in rows])
        assert "Index Scan Backward" in plan
        return
    with driver.connect(str(file_of(url))) as connection:
        plan = str(connection.execute(f"EXPLAIN QUERY PLAN {asked}").fetchall())
    assert index in plan
    assert "TEMP B-TREE" not in plan


async def test_newest_in_project_is_read_from_indexes(db: Database, url: str) -> None:
    if is_postgres(url):
        pytest.skip("PostgreSQL asks its statistics, which an empty table does not have")
    await recency.newest_in_project(db, "shop", limit=9, now=NOON)
    with driver.connect(str(file_of(url))) as connection:
        for where, index in (
            ("project = 'shop'", "idx_memories_recent"),
            ("scope = 'global' AND project != 'shop'", "idx_memories_wide"),
        ):
            query = f"SELECT * FROM memories WHERE {recency.ACTIVE_KNOWLEDGE} AND {where}"
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN {query} ORDER BY updated_at DESC, id DESC LIMIT 9"
            ).fetchall()
            assert index in str(plan)
            assert "TEMP B-TREE" not in str(plan)


@pytest.mark.parametrize(
    ("index", "asked"),
    [
        ("idx_acts_undoes", "SELECT id FROM acts WHERE undoes IN (7, 8)"),
        ("idx_acts_review", "SELECT id FROM acts WHERE review_id = 7"),
        ("idx_history_session", "SELECT id FROM history WHERE session_id IN (7, 8)"),
        ("idx_history_review", "SELECT id FROM history WHERE review_id = 7"),
    ],
)
async def test_indexes_hold_only_rows_with_a_number(db: Database, index: str, asked: str) -> None:
    """A row without a session, a review or an undone act is in no index of that column."""
    async with writing(db):
        if db.notifies:
            await db.execute(sa.text("SET LOCAL enable_seqscan = off"))
            ddl = "SELECT indexdef AS sql FROM pg_indexes WHERE indexname = '%s'"
        else:
            ddl = "SELECT sql FROM sqlite_master WHERE name = '%s'"
        explain = "EXPLAIN" if db.notifies else "EXPLAIN QUERY PLAN"
        rows = await db.fetch_all(sa.text(f"{explain} {asked}"))
        defined = await db.fetch_val(sa.text(ddl % index))
    assert index in str([dict(row) for row in rows])
    assert "IS NOT NULL" in defined
