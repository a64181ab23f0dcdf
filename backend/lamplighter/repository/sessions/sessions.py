"""Queries on sessions, one function each."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.sessions.session import OutcomeState, Session, SessionPlan, Status, Trigger
from lamplighter.formats import serialize
from lamplighter.repository.store import database
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import UTCDateTime
from lamplighter.repository.store.statements import (
    Fetch,
    Page,
    PublishedRows,
    Statement,
    equal_to,
    fetch_list,
    newest_value,
    one_of,
    publisher,
    update_rows,
)
from lamplighter.repository.store.tables import reader, sessions

if TYPE_CHECKING:
    from lamplighter.domain.sessions.cost import Charge
    from lamplighter.domain.sessions.transcript import Usage, UsageReport

ENTITY: Final = "session"
UID_BYTES: Final = 6
PROBE: Final = "probe"
"""The built-in engine runs no program and writes no file."""
_RUNS: Final = sessions.c.status == Status.RUNNING
_RUNNING: Final = Statement(
    sa.select(sessions).where(_RUNS, sessions.c.trigger != Trigger.CLIENT).order_by(sessions.c.id)
)
COUNTS: Final = ("learned", "reinforced", "events", "ignored")
_PROGRESS: Final = Statement(
    sa.update(sessions)
    .where(sessions.c.id == sa.bindparam("number"))
    .values(
        log_offset=sa.bindparam("reached"),
        log_step=sa.bindparam("reached_step"),
        **{name: sessions.c[name] + sa.bindparam(f"more_{name}") for name in COUNTS},
        version=sessions.c.version + 1,
    )
    .returning(sessions)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Filter for sessions; None matches all, `since` is in the range."""

    status: Status | None = None
    tier: int | None = None
    trigger: Trigger | None = None
    service: str | None = None
    since: datetime | None = None
    project: str | None = None


async def insert(
    db: Database,
    plan: SessionPlan,
    *,
    model: str | None,
    epoch: int,
    now: datetime,
) -> Session:
    """Insert a session, whose output will be in the home of this process."""
    values = {
        "tier": plan.tier,
        "engine": plan.engine,
        "model": model,
        "trigger": plan.trigger,
        "status": Status.RUNNING,
        "prompt": plan.prompt,
        "parent_id": plan.parent_id,
        "services": None if plan.services is None else list(plan.services),
        "dry_run": plan.dry_run,
        "started_at": now,
        "leader_epoch": epoch,
        "budget_usd": plan.budget_usd,
    }
    if db.home is not None:
        values |= {"home": db.home.id, "host": db.home.host, "uid": secrets.token_hex(UID_BYTES)}
    session = from_row(await database.insert(db, values))
    await publish(db, session, ChangeOp.CREATED, now=now)
    return session


async def get(db: Database, session_id: int) -> Session | None:
    """Return one session."""
    return await session_rows.get(db, session_id)


async def child(db: Database, session_id: int) -> Session | None:
    """Return the session that a session escalated to."""
    return await session_rows.first(db, sessions.c.parent_id == session_id)


async def progress(
    db: Database,
    session_id: int,
    *,
    log_offset: int,
    log_step: int = 0,
    now: datetime,
    **brought: int,
) -> Session:
    """Advance a session to a step of the line at `log_offset`.

    `brought` is added to its counts: learned, reinforced, events, ignored.
    """
    more = {f"more_{name}": brought.get(name, 0) for name in COUNTS}
    statement = _PROGRESS(number=session_id, reached=log_offset, reached_step=log_step, **more)
    session = from_row(await db.fetch_one(statement))
    await publish(db, session, ChangeOp.UPDATED, now=now)
    return session


async def set_model(db: Database, session_id: int, model: str) -> None:
    """Record the model of a session; the `progress` that follows reports it."""
    await db.execute(sa.update(sessions).where(sessions.c.id == session_id).values(model=model))


async def set_spent(db: Database, session_id: int, spent: "UsageReport") -> None:
    """Record the spending of a session so far; the `progress` that follows reports it."""
    await update_rows(
        db,
        sessions,
        sessions.c.id == session_id,
        turns=spent.turns,
        cost_usd=spent.cost_usd,
        **usage_columns(spent.usage),
    )


def usage_columns(usage: "Usage") -> dict[str, int]:
    """Return the columns that store the number of tokens used."""
    return {
        "input_tokens": usage.uncached,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
    }


async def add_leftover(
    db: Database, session_id: int, count: int, *, offset: int, step: int
) -> None:
    """Count markers that are left in the file; the `progress` that follows reports it.

    The first of them is step `step` of the line at `offset`, unless others were left before.
    """
    none_yet = sessions.c.markers_left == 0
    await update_rows(
        db,
        sessions,
        sessions.c.id == session_id,
        markers_left=sessions.c.markers_left + count,
        left_offset=sa.case((none_yet, offset), else_=sessions.c.left_offset),
        left_step=sa.case((none_yet, step), else_=sessions.c.left_step),
    )


async def ingest_leftover(
    db: Database, session_id: int, count: int, *, offset: int, step: int
) -> None:
    """Count leftover markers that are ingested now, up to a step of the line at `offset`."""
    await update_rows(
        db,
        sessions,
        sessions.c.id == session_id,
        markers_left=sessions.c.markers_left - count,
        left_offset=offset,
        left_step=step,
    )


async def add_counts(db: Database, session_id: int, *, now: datetime, **counts: int) -> Session:
    """Add to the counts of a session other than by its lines; `counts` as in `progress`."""
    more = {name: sessions.c[name] + count for name, count in counts.items()}
    return await session_rows.change(db, session_id, more, now=now)


async def end(
    db: Database, session_id: int, status: Status, *, now: datetime, **columns: Any
) -> Session | None:
    """End a running session; return None if it has ended already.

    `columns` are further columns: exit_code, response, summary, reason, cost_usd, turns,
    duration_ms.
    """
    return await _update(db, session_id, {"status": status, "ended_at": now, **columns}, now=now)


async def request_stop(db: Database, session_id: int, *, now: datetime) -> Session | None:
    """Request the stop of a running session; return None if it has ended already."""
    return await _update(db, session_id, {"stop_requested_at": now}, now=now)


async def resume(db: Database, session_id: int, *, epoch: int, now: datetime) -> Session | None:
    """Resume a running session under the leader of `epoch`; None if it has ended already."""
    values = {"resumed": sessions.c.resumed + 1, "leader_epoch": epoch}
    return await _update(db, session_id, values, now=now)


async def newest(db: Database) -> datetime | None:
    """Return when the newest session started; None without sessions."""
    return await newest_value(db, sessions.c.started_at)


async def running(db: Database) -> list[Session]:
    """Return the running sessions, without those of clients, oldest first."""
    return await db.fetch(running_fetch())


def running_fetch() -> Fetch[list[Session]]:
    """Build the fetch of the running sessions, without those of clients, oldest first."""
    return fetch_list(_RUNNING(), from_row)


async def session_at(db: Database, at: datetime | None) -> int | None:
    """Return a session that could write files at `at`, or now if `at` is None."""
    ran = [sessions.c.tier > 0, sessions.c.engine != PROBE]
    if at is None:
        ran.append(sessions.c.ended_at.is_(None))
    else:
        ran.append(sessions.c.started_at <= at)
        ran.append(sa.or_(sessions.c.ended_at.is_(None), sessions.c.ended_at >= at))
    return await newest_value(db, sessions.c.id, *ran)


async def pending_output(db: Database, home: str) -> list[Session]:
    """Return the sessions whose output in a home is still to be ingested, oldest first."""
    return await session_rows.oldest(db, sessions.c.output_pending == 1, sessions.c.home == home)


async def complete_output(
    db: Database, session_id: int, *, now: datetime, **columns: Any
) -> Session | None:
    """Store the results of the rest of an ended session's output; None if already done."""
    waits = sessions.c.output_pending == 1
    values = {"output_pending": False, **columns}
    return await _update(db, session_id, values, when=waits, now=now)


def outcomes(
    states: Sequence[OutcomeState], *, since: datetime, limit: int
) -> Fetch[list[Session]]:
    """Build the fetch of the sessions that ended with any of some outcomes, newest first."""
    return fetch_list(_outcomes_of(tuple(states), limit)(since=since), from_row)


@cache
def _outcomes_of(states: Sequence[OutcomeState], limit: int) -> Statement:
    return Statement(
        sa.select(sessions)
        .where(sessions.c.ended_at >= sa.bindparam("since", type_=UTCDateTime()))
        .where(one_of(sessions.c.outcome_state, states))
        .order_by(sessions.c.id.desc())
        .limit(limit),
        long=True,
    )


async def set_outcome(
    db: Database, session_id: int, words: str, state: OutcomeState, *, now: datetime
) -> Session | None:
    """Store another outcome of an ended session; return None if the outcome is the same."""
    other = sa.and_(sessions.c.outcome != words, ~_RUNS)
    values = {"outcome": words, "outcome_state": state}
    return await _update(db, session_id, values, when=other, now=now)


async def page(
    db: Database, selection: SessionFilter, *, limit: int, position: Sequence[Any] | None = None
) -> Page[Session]:
    """Return one page of sessions, newest first."""
    return await session_rows.page(db, *_conditions(selection), limit=limit, position=position)


async def lineage(db: Database, session_id: int) -> list[int]:
    """Return a session's ancestors and itself, the root first."""
    numbers: list[int] = []
    number: int | None = session_id
    while number is not None and len(numbers) <= MAX_TIER:
        numbers.insert(0, number)
        existing = await get(db, number)
        number = existing.parent_id if existing else None
    return numbers


async def chain_members(db: Database, items: Sequence[Session]) -> list[Session]:
    """Return the other sessions in the chains of these, oldest first."""
    by_id = {each.id: each for each in items}
    last: Sequence[Session] = items
    for _ in range(MAX_TIER):
        parents = {each.parent_id for each in last if each.parent_id} - by_id.keys()
        handed = [each.id for each in last if each.status is Status.ESCALATED]
        if not parents and not handed:
            break
        linked = sessions.c.id.in_(parents) | sessions.c.parent_id.in_(handed)
        last = [each for each in await session_rows.oldest(db, linked) if each.id not in by_id]
        by_id |= {each.id: each for each in last}
    mine = {each.id for each in items}
    return [by_id[number] for number in sorted(by_id.keys() - mine)]


async def _update(
    db: Database,
    session_id: int,
    values: dict[str, Any],
    *,
    when: sa.ColumnElement[bool] = _RUNS,
    now: datetime,
) -> Session | None:
    conditions = [sessions.c.id == session_id, when]
    session = await session_rows.update_one(db, conditions, values, now=now)
    if session is not None and "summary" in values:
        from lamplighter.repository.feed import indexing  # slow import, not needed by reads

        await indexing.index_changed_session(db, session)
    return session


def _conditions(selection: SessionFilter) -> list[sa.ColumnElement[bool]]:
    asked = ("status", "tier", "trigger", "project")
    clauses = equal_to(sessions.c, **{name: getattr(selection, name) for name in asked})
    if selection.service is not None:
        name = json.dumps(selection.service, ensure_ascii=False)
        listed = sa.type_coerce(sessions.c.services, sa.Text)
        clauses.append(listed.contains(name, autoescape=True))
    if selection.since is not None:
        clauses.append(sessions.c.started_at >= selection.since)
    return clauses


publish = publisher(ENTITY, serialize.session)
from_row: Final = reader(Session)
session_rows: Final = PublishedRows(sessions, from_row, publish)


_CHARGED: Final = sa.func.coalesce(sessions.c.cost_usd, sessions.c.budget_usd, 0.0)


async def total_charged(db: Database, ids: Sequence[int]) -> float:
    """Return the total charge of some sessions, in dollars."""
    if not ids:
        return 0.0
    query = sa.select(sa.func.sum(_CHARGED)).where(sessions.c.id.in_(ids))
    return float(await db.fetch_val(query) or 0.0)


_CHARGES: Final = Statement(
    sa.select(sessions.c.started_at, _CHARGED.label("dollars"))
    .where(sessions.c.started_at > sa.bindparam("at", type_=UTCDateTime()))
    .where(_CHARGED > 0)
    .order_by(sessions.c.started_at, sessions.c.id)
)


async def charges_since(db: Database, at: datetime) -> "list[Charge]":
    """Return the charge of each session since a moment, oldest first, without free sessions."""
    return await db.fetch(charges_fetch(at))


def charges_fetch(at: datetime) -> "Fetch[list[Charge]]":
    """Build the fetch of the charge of each session since a moment, without free sessions."""
    from lamplighter.domain.sessions.cost import Charge

    return fetch_list(_CHARGES(at=at), lambda row: Charge(row["started_at"], float(row["dollars"])))
