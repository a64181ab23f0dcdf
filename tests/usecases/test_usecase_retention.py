"""What is removed at its age, what folds, and what stays."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.retention import Retention
from lamplighter.domain.sessions.session import (
    OutcomeState,
    RequestState,
    Session,
    SessionPlan,
    Status,
    Trigger,
)
from lamplighter.repository import Database, writing
from lamplighter.repository.services import alerts, events
from lamplighter.repository.sessions import folding, sessions
from lamplighter.repository.store import session_tables, tables
from lamplighter.repository.store.dialect import metadata
from lamplighter.repository.upkeep.statistics import collect_figures
from lamplighter.usecases.system import retention
from lamplighter.usecases.system.retention import apply_retention

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


async def ran(db: Database, at: datetime, outcome: str = "All healthy", **more: Any) -> Session:
    """Run a round to its end; `more` are columns that it ends with."""
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=at)
        await db.execute(
            sa.insert(tables.prompts).values(
                session_id=session.id, system="", injected="", message="", tokens=1, budget=1
            )
        )
        found = {
            "outcome": outcome,
            "outcome_state": OutcomeState.HEALTHY,
            "cost_usd": 0.25,
            **more,
        }
        ended = await sessions.end(db, session.id, Status.COMPLETED, now=at + HOUR / 2, **found)
    assert ended is not None
    return ended


async def stored(db: Database, table: sa.Table) -> list[Any]:
    return [*await db.fetch_all(sa.select(table).order_by(table.primary_key.columns[0]))]


async def test_unchanged_healthy_rounds_fold_to_one_row_a_day(db: Database) -> None:
    first = [await ran(db, NOON - 9 * DAY + each * HOUR) for each in range(4)]
    other = await ran(db, NOON - 9 * DAY + 5 * HOUR, "4 of 5 services healthy")
    learned = await ran(db, NOON - 9 * DAY + 6 * HOUR, learned=1)
    second = [await ran(db, NOON - 8 * DAY + each * HOUR) for each in range(2)]
    recent = [await ran(db, NOON - 7 * DAY + each * HOUR) for each in range(2)]
    before = await collect_figures(db, now=NOON)

    assert (await apply_retention(db, Retention(), now=NOON))["rounds"] == 4
    assert (await apply_retention(db, Retention(), now=NOON))["rounds"] == 0

    left = await stored(db, tables.sessions)
    assert [(row["id"], row["rounds"], row["cost_usd"]) for row in left] == [
        (first[-1].id, 4, 1.0),
        (other.id, 1, 0.25),
        (learned.id, 1, 0.25),
        (second[-1].id, 2, 0.5),
        *((each.id, 1, 0.25) for each in recent),
    ]
    assert [row["session_id"] for row in await stored(db, tables.prompts)] == [
        row["id"] for row in left
    ]
    after = await collect_figures(db, now=NOON)
    assert (after.sessions, after.dollars) == (before.sessions, before.dollars)


async def test_a_round_that_something_refers_to_stays(db: Database) -> None:
    rounds = [await ran(db, NOON - 9 * DAY + each * HOUR) for each in range(3)]
    async with writing(db):
        values = {"state": RequestState.DONE, "session_id": rounds[0].id, "tier": 1, "prompt": ""}
        more = {"trigger": Trigger.API, "created_at": NOON, "version": 1, "dry_run": False}
        await db.execute(sa.insert(tables.requests).values(**values, **more))

    await apply_retention(db, Retention(), now=NOON)

    left = await stored(db, tables.sessions)
    assert [(row["id"], row["rounds"]) for row in left] == [(rounds[0].id, 1), (rounds[2].id, 2)]


async def test_details_and_events_are_removed_at_their_age(db: Database) -> None:
    old, new = await ran(db, NOON - 400 * DAY, learned=1), await ran(db, NOON - DAY)
    async with writing(db):
        for at in (NOON - 800 * DAY, NOON - 700 * DAY):
            await events.insert(db, Level.INFO, "A report", source="operator", now=at)
        down = Alert(fingerprint="1", state=AlertState.RESOLVED, title="is down")
        for number, ended in enumerate((NOON - 400 * DAY, NOON - DAY, None)):
            about = {"incident": str(number), "service": None, "deliveries": 1}
            await alerts.insert(db, "kuma", down, **about, resolved_at=ended, now=NOON - 500 * DAY)

    found = await apply_retention(db, Retention(), now=NOON)
    assert (found["sessions"], found["events"], found["records"]) == (1, 1, 1)
    assert [row["incident"] for row in await stored(db, session_tables.alerts)] == ["1", "2"]
    never = Retention(**dict.fromkeys(field.name for field in fields(Retention)))
    assert await apply_retention(db, never, now=NOON + 4_000 * DAY) == {}

    assert [row["id"] for row in await stored(db, tables.sessions)] == [old.id, new.id]
    assert [row["session_id"] for row in await stored(db, tables.prompts)] == [new.id]
    (left,) = await stored(db, tables.events)
    assert left["created_at"] == NOON - 700 * DAY


async def test_many_rounds_are_read_and_folded_in_parts(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PAGE", 5)
    monkeypatch.setattr(retention, "FOLDED_AT_ONCE", 2)
    rounds = [await ran(db, NOON - 9 * DAY + each * HOUR / 2) for each in range(12)]

    assert [(await apply_retention(db, Retention(), now=NOON))["rounds"] for _ in "two"] == [
        9,
        2,
        0,
    ]

    left = await stored(db, tables.sessions)
    assert [(row["id"], row["rounds"], row["cost_usd"]) for row in left] == [(rounds[-1].id, 12, 3)]


async def test_files_of_any_number_of_sessions_are_looked_up(db: Database) -> None:
    ended, newest = await ran(db, NOON - 9 * DAY), await ran(db, NOON)
    many = range(ended.id, newest.id + 300_000)

    assert await folding.obsolete(db, many, before=NOON) == {ended.id}


async def test_a_session_is_removed_by_indexes(sqlite: str) -> None:
    """Without one, each removed session would cost a look at all the rows that might name it."""
    async with Database(sqlite) as db:
        for table in metadata.sorted_tables:
            for key in table.foreign_keys:
                if key.column.table is tables.sessions:
                    column = key.parent.name
                    query = f"EXPLAIN QUERY PLAN SELECT 1 FROM {table.name} WHERE {column} = 1"
                    (plan,) = await db.fetch_all(sa.text(query))
                    assert plan["detail"].startswith("SEARCH"), (table.name, column)
