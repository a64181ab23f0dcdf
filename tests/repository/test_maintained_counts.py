"""Counts that triggers maintain equal a count of all rows."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import direct_writes
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import facets
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALWAYS = EventSelection(since=NOON - timedelta(days=1))
"""A range that includes everything: its groups are counted."""


async def test_triggers_maintain_the_counts_of_event_groups(db: Database) -> None:
    dice = random.Random(3)
    async with writing(db):
        by = [(await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)).id] * 2
        by.append((await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=NOON)).id)
        for minute in range(60):
            await events.insert(
                db,
                dice.choice(list(Level)),
                dice.choice(("It's slow", "Failed: 50%", "")),
                service=dice.choice((None, "caddy", "dns")),
                session_id=dice.choice((None, *by)),
                source="session",
                now=NOON + timedelta(minutes=minute),
            )
    counted = await events.page_groups(db, ALWAYS, limit=50)
    assert await events.page_groups(db, EventSelection(), limit=50) == counted

    first = counted.items[3]
    same = EventSelection(same=first.first_id)
    assert (await events.page_groups(db, same, limit=50)).items == [first]
    page = await events.page_groups(db, EventSelection(service="dns"), limit=2)
    rest = await events.page_groups(
        db, EventSelection(service="dns"), limit=50, position=page.position
    )
    asked = replace(ALWAYS, service="dns")
    assert page.items + rest.items == (await events.page_groups(db, asked, limit=50)).items

    async with writing(db):
        await db.execute(sa.delete(tables.events).where(tables.events.c.id <= 40))

    counted = await events.page_groups(db, ALWAYS, limit=50)
    maintained = await events.page_groups(db, EventSelection(), limit=50)
    assert [(each.text, each.service, each.level, each.count) for each in maintained.items] == [
        (each.text, each.service, each.level, each.count) for each in counted.items
    ]


NAMES = itertools.count(1)
AT = "'2026-01-01T12:00:00.000000Z'"
OLD_ROWS = (
    "INSERT INTO sessions (tier, engine, trigger, status, prompt, dry_run, started_at, response,"
    " summary, reason, log_offset, learned, reinforced, events, ignored, version, leader_epoch)"
    f" VALUES (1, 'probe', 'scheduled', 'completed', '', 0, {AT}, '', '', '', 0, 0, 0, 0, 0, 1, 1)",
    *(
        "INSERT INTO events (level, service, text, session_id, created_at)"
        f" VALUES ('{level}', {service}, 'It''s slow', {session}, {AT})"
        for level, service, session in (
            *(("info", "'web'", "1"), ("info", "'web'", "1"), ("info", "'web'", "NULL")),
            *(("critical", "'web'", "1"), ("info", "NULL", "NULL")),
        )
    ),
    *(
        "INSERT INTO memories (category, observation, created_at, updated_at)"
        f" VALUES ('timing', 'Takes {number} s', {AT}, {AT})"
        for number in (1, 2, 3)
    ),
    "INSERT INTO exposures (session_id, memory_id, version, position, why, line)"
    " VALUES (1, 1, 1, 1, '', '')",
    *(
        "INSERT INTO history (memory_id, version, at, actor, session_id, cause, reason)"
        f" VALUES ({memory}, 2, {AT}, '{actor}', {session}, '{cause}', '')"
        for memory, actor, session, cause in (
            (2, "session", 1, "reinforced"),
            (3, "operator", "NULL", "edited"),
        )
    ),
)


@pytest.fixture(params=["sqlite", "postgres"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of an older database, with rows."""
    name = f"older{next(NAMES)}"
    server = request.getfixturevalue("postgres") if request.param == "postgres" else None
    url = server.create(name) if server else sqlite_url(tmp_path / "lamplighter.db")
    migrate.upgrade(url, target="0044")
    direct_writes.run(url, *OLD_ROWS)
    yield url
    if server:
        server.drop(name)


async def test_upgrade_counts_stored_rows_and_loses_none(older: str) -> None:
    counted = ("sessions", "events", "memories", "exposures", "history")
    before = [direct_writes.run(older, f"SELECT count(*) FROM {name}") for name in counted]

    await asyncio.to_thread(migrate.upgrade, older)

    assert before == [direct_writes.run(older, f"SELECT count(*) FROM {name}") for name in counted]
    async with Database(older) as db:
        found = await events.page_groups(db, EventSelection(), limit=9)
        assert [(each.count, each.sessions) for each in found.items] == [(1, 0), (1, 1), (3, 1)]
        assert found == await events.page_groups(db, ALWAYS, limit=9)
        views = await facets.views(db, MemoryFilter(by=NOON))
        assert views == {"fading": 0, "unused": 2, "single": 2, "edited": 1}
        (session,) = (await sessions.page(db, sessions.SessionFilter(), limit=9)).items
        assert session.rounds == 1
