"""A long-running home: results, rounds, events and memories, stored by the product."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from contexts import context
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.series import BUCKET, CheckRun, PointState, SeriesResolution
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.retention import Retention
from lamplighter.domain.sessions.session import OutcomeState, SessionPlan, Status
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events
from lamplighter.repository.sessions import sessions
from lamplighter.repository.store import tables
from lamplighter.repository.store.dialect import metadata
from lamplighter.usecases.services import check_folding, check_runs
from lamplighter.usecases.services.check_folding import CheckRetention
from lamplighter.usecases.system.retention import apply_retention

START = datetime(2026, 1, 1, tzinfo=UTC)
PROMPT_BYTES = 6_000
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Life:
    """The duration, the services and the activities of a simulated home."""

    days: int
    services: int = 30
    interval: timedelta = timedelta(seconds=60)
    round_every: timedelta = timedelta(hours=1)
    events_a_day: int = 30
    memories_a_day: int = 10


async def live(db: Database, life: Life, results: CheckRetention, retention: Retention) -> None:
    """Run every day of a life, with the same upkeep as the supervisor."""
    chance = random.Random(life.days)
    for number in range(life.days):
        await _day(db, life, START + number * DAY, results, chance)
        await apply_retention(db, retention, now=START + (number + 1) * DAY)


async def _day(
    db: Database, life: Life, morning: datetime, results: CheckRetention, chance: random.Random
) -> None:
    rounds = DAY // life.round_every
    for hour in range(24):
        begins = morning + timedelta(hours=hour)
        await _check(db, life, begins, chance)
        await check_folding.fold(db, results, before=begins + timedelta(hours=1, seconds=31))
        for each in range(hour * rounds // 24, (hour + 1) * rounds // 24):
            await _round(db, morning + each * life.round_every)
    async with writing(db):
        for each in range(life.events_a_day):
            text = f"The backup took {chance.randrange(900)} s"
            at = morning + each * DAY / life.events_a_day
            await events.insert(db, Level.INFO, text, source="operator", now=at)
        for each in range(life.memories_a_day):
            text = f"Part {morning:%j}-{each} takes {chance.randrange(900)} s to start"
            await memories.insert(db, _learned(text), now=morning)


async def _check(db: Database, life: Life, begins: datetime, chance: random.Random) -> None:
    """Store the results of an hour in one write: fewer switches between threads."""
    runs: list[CheckRun] = []
    for at in range(timedelta(hours=1) // life.interval):
        moment = begins + at * life.interval
        runs += [_run(f"svc{number}", moment, chance) for number in range(life.services)]
    await check_runs.record(context(db, runs[-1].at), runs, Services())


def _run(service: str, at: datetime, chance: random.Random) -> CheckRun:
    return CheckRun(
        service=service,
        check="http",
        kind="http",
        at=at,
        state=PointState.PASSED,
        latency_ms=round(chance.uniform(2, 90), 1),
        status=200,
    )


async def _round(db: Database, at: datetime) -> None:
    async with writing(db):
        session = await sessions.insert(db, SessionPlan(), model=None, epoch=1, now=at)
        text = "x" * (PROMPT_BYTES // 3)
        values = {"system": text, "injected": text, "message": text, "tokens": 1, "budget": 1}
        await db.execute(sa.insert(tables.prompts).values(session_id=session.id, **values))
        found = {"outcome": "All healthy", "outcome_state": OutcomeState.HEALTHY}
        await sessions.end(db, session.id, Status.COMPLETED, now=at, **found)


def _learned(text: str) -> Candidate:
    return Candidate(
        category=Category.TIMING, service="svc1", observation=text, tier=1, session_id=None
    )


async def stored_rows(db: Database) -> dict[str, int]:
    """Return the number of stored rows, and the results and rounds that they count."""
    found = {}
    for name in ("check_points", "sessions", "prompts", "events", "memories"):
        table = metadata.tables[name]
        found[name] = await db.fetch_val(sa.select(sa.func.count()).select_from(table))
    for span in SeriesResolution.FINE, SeriesResolution.DAILY:
        of_span = tables.check_aggregates.c.span == span.value
        results = sa.select(sa.func.sum(tables.check_aggregates.c["count"])).where(of_span)
        found[f"aggregates of {span.value}"] = await db.fetch_val(
            sa.select(sa.func.count()).select_from(tables.check_aggregates).where(of_span)
        )
        found[f"results in {span.value}"] = int(await db.fetch_val(results))
    found["rounds"] = int(await db.fetch_val(sa.select(sa.func.sum(tables.sessions.c.rounds))))
    return found


def rows_to_store(life: Life, results: CheckRetention, retention: Retention) -> dict[str, int]:
    """Return the `stored_rows` after a life in which no row is lost and none is left over."""
    rounds_a_day = DAY // life.round_every
    fine = max(BUCKET, life.interval)
    fine_rows, daily_rows = _left(life, results.fine, fine), _left(life, results.daily, DAY)
    folded = life.days - _days(life, retention.rounds)
    unfolded_rounds = (life.days - folded) * rounds_a_day
    return {
        "check_points": _left(life, results.points, life.interval),
        "sessions": folded + unfolded_rounds,
        "prompts": _days(life, retention.sessions) - (life.days - folded) + unfolded_rounds,
        "events": _days(life, retention.events) * life.events_a_day,
        "memories": life.days * life.memories_a_day,
        "aggregates of 5m": fine_rows,
        "results in 5m": fine_rows * (fine // life.interval),
        "aggregates of 1d": daily_rows,
        "results in 1d": daily_rows * (DAY // life.interval),
        "rounds": life.days * rounds_a_day,
    }


def _left(life: Life, age: timedelta, step: timedelta) -> int:
    """Return the number of time steps within the retention, for all services.

    The last fold comes half a minute after the end: the step at the edge is removed.
    """
    whole = life.days * DAY
    return life.services * (whole // step if age > whole else age // step - 1)


def _days(life: Life, age: timedelta | None) -> int:
    return life.days if age is None else min(life.days, age // DAY)
