"""Retention: rows removed by age, folded rows, and rows that stay."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from examples import SLOW_START

from lamplighter.config import catalog
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import IncidentSource
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
from lamplighter.repository.memory import memories
from lamplighter.repository.services import alerts, events, incidents
from lamplighter.repository.sessions import folding, requests, sessions
from lamplighter.repository.store import tables
from lamplighter.repository.upkeep import pruning
from lamplighter.repository.upkeep.statistics import collect_figures
from lamplighter.usecases.services.incidents.steps import open_incident
from lamplighter.usecases.system import retention
from lamplighter.usecases.system.retention import apply_retention

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


async def ran(db: Database, at: datetime, outcome: str = "All healthy", **more: Any) -> Session:
    """Run a round to its end; `more` are values of its columns at its end."""
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


async def test_referenced_round_is_not_folded(db: Database) -> None:
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
    assert [row["incident"] for row in await stored(db, tables.alerts)] == ["1", "2"]
    never = Retention(**dict.fromkeys(field.name for field in fields(Retention)))
    assert await apply_retention(db, never, now=NOON + 4_000 * DAY) == {}

    assert [row["id"] for row in await stored(db, tables.sessions)] == [old.id, new.id]
    assert [row["session_id"] for row in await stored(db, tables.prompts)] == [new.id]
    (left,) = await stored(db, tables.events)
    assert left["created_at"] == NOON - 700 * DAY


async def test_many_rounds_are_folded_in_batches(
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


async def test_obsolete_accepts_any_number_of_sessions(db: Database) -> None:
    ended, newest = await ran(db, NOON - 9 * DAY), await ran(db, NOON)
    many = range(ended.id, newest.id + 300_000)

    assert await folding.obsolete(db, many, before=NOON) == {ended.id}


async def test_foreign_keys_have_indexes_for_removal(sqlite: str) -> None:
    """Without an index, each removed row would require a scan of all rows that may reference it."""
    async with Database(sqlite) as db:
        for table in tables.complete_metadata().sorted_tables:
            for key in table.foreign_keys:
                column = key.parent.name
                query = f"EXPLAIN QUERY PLAN SELECT 1 FROM {table.name} WHERE {column} = 1"
                (plan,) = await db.fetch_all(sa.text(query))
                assert plan["detail"].startswith("SEARCH"), (table.name, column)


async def test_unreferenced_rows_are_found_without_a_query_per_row(
    sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One scan for all rows costs less than a search for each: there may be very many."""
    asked: list[Any] = []

    async def note(db: Database, query: Any) -> list[Any]:
        asked.append(query)
        return []

    async with Database(sqlite) as db:
        with monkeypatch.context() as noted:
            noted.setattr(Database, "fetch_all", note)
            await pruning._ids(db, tables.requests, tables.requests.c.id > 0)
        (query,) = asked
        text = str(query.compile(compile_kwargs={"literal_binds": True}))
        plan = await db.fetch_all(sa.text(f"EXPLAIN QUERY PLAN {text}"))
    assert not [row["detail"] for row in plan if "CORRELATED" in row["detail"]]


BOUNDED = {
    "its memory": "aliases analyses embeddings entities graph_evidence history imports"
    " learned_facts links memories memory_checks memory_periods memory_views relationships"
    " term_totals terms unindexed verifications",
    "a page or a line of the notebook": "notebook_lines notebook_pages notebook_texts",
    "the trash, which has a setting": "trash trash_imports",
    "one for each declared service": "declarations",
    "one for each declared check": "check_series push_checks",
    "100 a push check": "push_signals",
    "500": "memory_health",
    "one for each source that exists": "organizer_sources",
    "one for each incident: memories are derived from them": "outcomes",
    "a device of a person": "devices",
    "one": "graph_position leases notebook_positions verification_position",
}
"""Tables whose rows are not removed at an age, by what bounds them."""
AGES = {
    "change_retention": (tables.changes,),
    "check_result_retention": (tables.check_points,),
    "check_series_retention": (tables.check_aggregates,),
    "session_check_retention": (tables.checks,),
    "transcript_retention": (tables.transcript_messages,),
    "session_retention": folding.OWNED,
    "event_retention": (tables.events, tables.event_groups),
    "record_retention": [table for table, *_ in pruning.RECORDS],
    "incident_retention": (
        *(tables.incidents, tables.service_pauses),
        *pruning.INCIDENT_PARTS,
    ),
    "history_retention": (
        *(tables.sessions, tables.days),
        *(table for table, *_ in pruning.HISTORY),
    ),
    "journal_retention": (tables.graph_steps, *(table for table, _ in pruning.JOURNAL)),
}


def test_every_table_has_a_retention_or_a_bound() -> None:
    aged = {table.name for each in AGES.values() for table in each}
    bounded = {name for each in BOUNDED.values() for name in each.split()}

    assert not aged & bounded
    assert aged | bounded == {table.name for table in tables.complete_metadata().sorted_tables}
    assert AGES.keys() <= {each.name for each in catalog.SETTINGS}


async def test_incidents_and_sessions_are_removed_at_their_age(db: Database) -> None:
    """Except those that are open, not ingested, or referenced by a memory or an event."""
    old = NOON - 1_200 * DAY
    first, working, pending, named, reported = [await ran(db, old, learned=1) for _ in range(5)]
    ended, live = [await opened(db, f"web{each.id}", each, old) for each in (first, working)]
    async with writing(db):
        await db.execute(
            sa.update(tables.sessions)
            .where(tables.sessions.c.id == pending.id)
            .values(output_pending=True)
        )
        await memories.insert(db, replace(SLOW_START, session_id=named.id), now=old)
        await incidents.update(db, ended, resolved_at=old + DAY, now=old)
        source = {"session_id": reported.id, "source": "marker"}
        await events.insert(db, Level.INFO, "A report", **source, now=NOON - DAY)
        await outcomes_of(db, ended, old)

    found = await apply_retention(db, Retention(), now=NOON)

    assert (found["incidents"], found["history"]) == (1, 2)  # a request and its session
    assert [row["id"] for row in await stored(db, tables.incidents)] == [live]
    assert {row["incident_id"] for row in await stored(db, tables.incident_entries)} == {live}
    assert [row["incident_id"] for row in await stored(db, tables.outcomes)] == [ended]

    async with writing(db):
        await incidents.update(db, live, resolved_at=old + DAY, now=old)
    found = await apply_retention(db, Retention(), now=NOON)

    assert (found["incidents"], found["history"]) == (1, 2)
    left = [row["id"] for row in await stored(db, tables.sessions)]
    assert left == [pending.id, named.id, reported.id]
    assert "journal" not in found


async def opened(db: Database, service: str, by: Session, at: datetime) -> int:
    """Open an incident with a request that a session completed; return its id."""
    async with writing(db):
        incident = await open_incident(
            db, IncidentSource.CHECK, service, {service: "refused"}, title="", started_at=at, now=at
        )
        request = await requests.insert(db, SessionPlan(), now=at)
        await db.execute(sa.update(tables.requests).values(state=RequestState.DONE))
        await incidents.update(db, incident.id, request_id=request.id, now=at)
        await incidents.link(db, incident.id, [by.id])
    return incident.id


async def outcomes_of(db: Database, incident: int, at: datetime) -> None:
    """Store an outcome record."""
    empty = dict.fromkeys(
        (
            *("check_name", "failure", "evidence", "circumstances", "action", "result"),
            *("ended", "actor"),
        ),
        "",
    )
    more = {"signatures": [], "context": {}, "memories": [], "attempts": 1, "seconds": 1, "tier": 1}
    values = {"incident_id": incident, "service": "web", "target": "web", "at": at}
    await db.execute(sa.insert(tables.outcomes).values(**empty, **more, **values))


async def test_journal_is_removed_if_its_retention_is_set(db: Database) -> None:
    for at in (NOON - 9 * DAY, NOON):
        async with writing(db):
            act = await db.fetch_val(
                sa.insert(tables.acts)
                .values(action="edit", created_at=at, actor="operator")
                .returning(tables.acts.c.id)
            )
            step = {"act_id": act, "table_name": "entities", "row_id": 1}
            await db.execute(sa.insert(tables.graph_steps).values(**step))

    assert (await apply_retention(db, Retention(journal=DAY), now=NOON))["journal"] == 2

    assert [row["created_at"] for row in await stored(db, tables.acts)] == [NOON]
    assert len(await stored(db, tables.graph_steps)) == 1
