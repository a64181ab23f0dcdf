"""Counts over many rows, for overviews."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.health.figures import MemoryMeasurement
from lamplighter.domain.memory.memory import InactiveReason, Memory, MemoryId, Reach
from lamplighter.domain.memory.review import ReviewState
from lamplighter.domain.services.cooldown import SPENDING_OUTCOMES
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import NoticeState
from lamplighter.domain.services.series import CheckSeries
from lamplighter.domain.sessions.session import RequestState, Status
from lamplighter.repository.health import measurements
from lamplighter.repository.memory import memories as memory_rows
from lamplighter.repository.memory.reviews import waiting_pages
from lamplighter.repository.services import series
from lamplighter.repository.sessions import approvals, halts
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database
from lamplighter.repository.store.dialect import NUMBER, UTCDateTime
from lamplighter.repository.store.statements import (
    Fetch,
    Page,
    Statement,
    count_by,
    newest_first,
    one_of,
)
from lamplighter.repository.store.tables import (
    cooldowns,
    embeddings,
    events,
    history,
    incidents,
    memories,
    notices,
    prompts,
    requests,
    retellings,
    reviews,
    sessions,
    unindexed,
)
from lamplighter.repository.upkeep import leases, vitals
from lamplighter.repository.verify.verifications import count_by_state

LEARNED: Final = "learned"
REINFORCED: Final = "reinforced"
WEAKENED: Final = "contradicted"
FADED: Final = "faded"
CLIENTS: Final = 0
"""The tier of the sessions of clients, which did not run here."""
CAUSES: Final = (LEARNED, REINFORCED, WEAKENED, FADED)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The number of started sessions by tier, and their cost; None if the cost is unknown."""

    by_tier: Mapping[int, int]
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRuns:
    """The sessions of a tier that started on a day and have one status; None is unknown."""

    day: date
    tier: int
    status: Status
    count: int
    turns: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceChange:
    """One change of a memory's confidence, and the current memory."""

    cause: str
    at: datetime
    reason: str
    before: float | None
    after: float | None
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The recent activity of memories, events and sessions, and the open reviews.

    `causes` count the changes of memories and `changes` are the last of each, newest first; `runs`
    are totals, `days` the same by day; `reviews` are the number of open reviews, and since when.
    """

    causes: Mapping[str, int]
    changes: tuple[ConfidenceChange, ...]
    levels: Mapping[Level, int]
    runs: RunTotals
    days: tuple[DayRuns, ...]
    reviews: tuple[int, datetime | None]


_MAX_CACHED: Final = 64
_START: Final = sa.bindparam("since", type_=UTCDateTime())
_STARTED: Final = sa.and_(sessions.c.started_at >= _START, sessions.c.tier != CLIENTS)
_DAY: Final = sa.func.substr(sessions.c.started_at, 1, 10, type_=sa.Text())
_LEVELS: Final = Statement(
    sa.select(events.c.level, sa.func.count().label("count"))
    .where(events.c.created_at >= _START)
    .group_by(events.c.level),
    long=True,
)
_ROUNDS: Final = sa.cast(sa.func.sum(sessions.c.rounds), NUMBER)
"""The number of sessions: a row may stand for several rounds."""
_RUNS: Final = Statement(
    sa.select(
        sessions.c.tier,
        _ROUNDS.label("count"),
        sa.func.sum(sa.case((sessions.c.cost_usd.is_not(None), sessions.c.rounds), else_=0)).label(
            "known"
        ),
        sa.func.sum(sessions.c.cost_usd).label("cost"),
    )
    .where(_STARTED)
    .group_by(sessions.c.tier),
    long=True,
)
_RUNS_BY_DAY: Final = Statement(
    sa.select(
        _DAY.label("day"),
        sessions.c.tier,
        sessions.c.status,
        _ROUNDS.label("count"),
        sa.func.sum(sessions.c.turns).label("turns"),
        sa.func.sum(sessions.c.cost_usd).label("cost"),
    )
    .where(_STARTED)
    .group_by(_DAY, sessions.c.tier, sessions.c.status)
    .order_by(_DAY, sessions.c.tier, sessions.c.status),
    long=True,
)
_QUEUED: Final = Statement(
    sa.select(sa.func.count().label("count"))
    .select_from(requests)
    .where(requests.c.state == RequestState.QUEUED)
)
_OPEN_REVIEWS: Final = Statement(
    sa.select(
        sa.func.count().label("count"), sa.func.min(reviews.c.created_at).label("oldest")
    ).where(reviews.c.state == ReviewState.OPEN),
    long=True,
)


def queued_fetch() -> Fetch[int]:
    """Build the fetch of the number of queued requests."""
    return Fetch([_QUEUED()], lambda found: int(found[0][0]["count"]))


@dataclass(frozen=True, slots=True)
class ActivityCounts:
    """The recent activity, with the last changes of memories as rows."""

    activity: Activity
    rows: Sequence[Any]


def activity_fetch(
    *,
    start: datetime,
    recent: datetime,
    first: date,
    limit: int,
    project: str | None = None,
) -> Fetch[ActivityCounts]:
    """Build the fetch of memory activity since `start`, and events and sessions since `recent`.

    Sessions by day start with `first`. `limit` applies to the changes of memories by each cause:
    many changes by one cause do not hide the others. With a `project`, only changes of its memories
    and of global memories are included.
    """
    latest, midnight = _recent_of(project, limit), datetime.combine(first, time(), UTC)
    queries = [
        _causes_of(project)(since=start),
        _LEVELS(since=recent),
        _RUNS(since=recent),
        _RUNS_BY_DAY(since=midnight),
        _OPEN_REVIEWS(),
        *(latest(cause=cause, since=start) for cause in CAUSES),
    ]
    return Fetch(queries, _read_activity)


def _read_activity(found: Sequence[Sequence[Any]]) -> ActivityCounts:
    causes, levels, runs, days, waiting, *changed = found
    activity = Activity(
        causes={**dict.fromkeys(CAUSES, 0), **{row["cause"]: row["count"] for row in causes}},
        changes=(),
        levels={**dict.fromkeys(Level, 0), **{Level(row["level"]): row["count"] for row in levels}},
        runs=_totals(runs),
        days=tuple(map(_day_runs, days)),
        reviews=_open(waiting[0]),
    )
    return ActivityCounts(activity, list(chain(*changed)))


async def with_changes(db: Database, counted: ActivityCounts) -> Activity:
    """Return the activity, with the last changes of memories and the current memories."""
    found = await _with_memories(db, counted.rows) if counted.rows else []
    changes = tuple(sorted(found, key=lambda change: change.at, reverse=True))
    return replace(counted.activity, changes=changes)


async def page(
    db: Database,
    causes: Sequence[str],
    *,
    start: datetime,
    limit: int,
    position: Sequence[Any] | None = None,
) -> Page[ConfidenceChange]:
    """Return one page of the changes of memories by some causes, newest first."""
    query = sa.select(history).where(history.c.cause.in_(list(causes)), history.c.at >= start)
    found = await newest_first(db, query, history.c.id, dict, limit=limit, position=position)
    return Page(await _with_memories(db, found.items), found.position)


async def open_reviews(db: Database) -> tuple[int, datetime | None]:
    """Return the number of open reviews, and since when the oldest has been open."""
    row = await db.fetch_one(_OPEN_REVIEWS())
    assert row is not None
    return _open(row)


def _totals(rows: Sequence[Any]) -> RunTotals:
    known = sum(int(row["known"]) for row in rows)
    cost = round(sum(row["cost"] or 0.0 for row in rows), 6) if known else None
    return RunTotals({row["tier"]: row["count"] for row in rows}, cost)


def _day_runs(row: Any) -> DayRuns:
    return DayRuns(
        day=date.fromisoformat(row["day"]),
        tier=row["tier"],
        status=Status(row["status"]),
        count=row["count"],
        turns=None if row["turns"] is None else int(row["turns"]),
        cost_usd=row["cost"],
    )


def _open(row: Any) -> tuple[int, datetime | None]:
    return int(row["count"]), row["oldest"]


@lru_cache(_MAX_CACHED)
def _causes_of(project: str | None) -> Statement:
    return Statement(
        sa.select(history.c.cause, sa.func.count().label("count"))
        .where(history.c.at >= _START)
        .where(one_of(history.c.cause, CAUSES))
        .where(_readable(project))
        .group_by(history.c.cause),
        long=True,
    )


@lru_cache(_MAX_CACHED)
def _recent_of(project: str | None, limit: int) -> Statement:
    return Statement(
        sa.select(history)
        .where(history.c.cause == sa.bindparam("cause", type_=sa.Text()))
        .where(history.c.at >= _START)
        .where(_readable(project))
        .order_by(history.c.at.desc(), history.c.id.desc())
        .limit(limit),
        long=True,
    )


def _readable(project: str | None) -> sa.ColumnElement[bool]:
    """Return the condition for changes of memories that a project may read; None reads all."""
    if project is None:
        return sa.true()
    return history.c.memory_id.in_(
        sa.select(memories.c.id).where(Reach(project).condition(memories.c))
    )


async def _with_memories(db: Database, rows: Sequence[Any]) -> list[ConfidenceChange]:
    """Return changes with their current memories, without changes of deleted memories."""
    existing = await memory_rows.by_ids(db, list({MemoryId(row["memory_id"]) for row in rows}))
    return [
        ConfidenceChange(
            cause=row["cause"],
            at=row["at"],
            reason=row["reason"],
            before=_confidence(row["before"]),
            after=_confidence(row["after"]),
            memory=existing[MemoryId(row["memory_id"])],
        )
        for row in rows
        if row["memory_id"] in existing
    ]


def _confidence(state: Mapping[str, float] | None) -> float | None:
    return None if state is None else state.get("confidence")


DAY: Final = timedelta(hours=24)
LEADS: Final = "running", "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """Counts and states; keys are label values from fixed sets."""

    memories: Mapping[tuple[str, ...], int]
    verification: Mapping[tuple[str, ...], int]
    health: MemoryMeasurement | None
    sessions: Mapping[tuple[str, ...], int]
    dollars: float
    uses: Mapping[tuple[str, ...], int]
    prompts: int
    reviews: int
    pages_waiting: int
    approvals: int
    requests: int
    outbox: int
    unindexed: int
    without_vector: int
    bytes: int
    changes: int
    heartbeat_age: float | None
    leads: bool
    halted: bool
    incidents: Mapping[tuple[str, ...], int]
    services_up: Mapping[tuple[str, ...], int]
    checks: Sequence[CheckSeries]
    at: datetime


async def collect_figures(db: Database, *, now: datetime) -> StoreFigures:
    """Count everything; part of a `reading`."""
    leader = await leases.get(db)
    return StoreFigures(
        memories=await _memories(db),
        verification={(name,): n for name, n in (await count_by_state(db)).items()},
        health=next(iter(await measurements.newest(db)), None),
        sessions=await _count_groups(
            db, sa.select(sessions.c.tier, sessions.c.status), sessions, _ROUNDS
        ),
        dollars=float(await db.fetch_val(sa.select(sa.func.sum(sessions.c.cost_usd))) or 0.0),
        uses=await _count_uses(db, since=now - DAY),
        prompts=await db.count_rows(prompts) + await db.count_rows(retellings),
        reviews=(await open_reviews(db))[0],
        pages_waiting=(await waiting_pages(db))[0],
        approvals=(await db.fetch(approvals.count_open(now)))[0],
        requests=await db.fetch(queued_fetch()),
        outbox=await _outbox(db),
        unindexed=await db.count_rows(unindexed),
        without_vector=await _without_vector(db),
        bytes=await vitals.size(db),
        changes=await changes.last_seq(db),
        heartbeat_age=None if leader is None else (now - leader.heartbeat_at).total_seconds(),
        leads=leader is not None and leader.state(now=now) in LEADS,
        halted=await halts.is_halted(db),
        incidents=await _count_groups(
            db, sa.select(incidents.c.state, incidents.c.severity), incidents
        ),
        services_up={(name,): int(up) for name, up in (await series.services_up(db)).items()},
        checks=await series.every(db),
        at=now,
    )


async def _memories(db: Database) -> dict[tuple[str, ...], int]:
    reason = sa.func.coalesce(memories.c.inactive_reason, InactiveReason.LOW.value)
    state = sa.case((memories.c.active == 1, "active"), else_=reason)
    return await _count_groups(db, sa.select(memories.c.category, state), memories)


async def _count_groups(
    db: Database,
    query: sa.Select[Any],
    table: sa.Table,
    number: sa.ColumnElement[Any] = sa.func.count(),  # noqa: B008 - an expression
) -> dict[tuple[str, ...], int]:
    keys = [each.label(f"key{at}") for at, each in enumerate(query.selected_columns)]
    counted = sa.select(*keys, number.label("count")).select_from(table)
    rows = await db.fetch_all(counted.group_by(*keys).order_by(*keys))
    return {tuple(str(row[key.name]) for key in keys): int(row["count"]) for row in rows}


async def _count_uses(db: Database, *, since: datetime) -> dict[tuple[str, ...], int]:
    recent = (cooldowns.c.created_at >= since, cooldowns.c.outcome.in_(SPENDING_OUTCOMES))
    counts = await count_by(db, cooldowns.c.action, *recent)
    return {(str(action),): count for action, count in counts.items()}


async def _outbox(db: Database) -> int:
    left = (NoticeState.WAITING, NoticeState.SENDING)
    return await db.count_rows(notices, notices.c.state.in_(left))


async def _without_vector(db: Database) -> int:
    known = sa.exists().where(embeddings.c.memory_id == memories.c.id)
    return await db.count_rows(memories, ~known)
