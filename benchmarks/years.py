"""Lists and counts after years: 300,000 events, 100,000 memories and their history.

The use case of each API query runs on SQLite and on PostgreSQL. Its processor time includes that of
the server. Limit: 100 ms. A first session starts while 100,000 memories are due to decay. The
baseline is the same rows by the shortest equivalent query, read by the driver. The run fails, and
reports it, if rows are missing.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import asyncpg
import psutil
import sqlalchemy as sa

from benchmarks.measure import sized
from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.domain.text import content_hash
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import facets, fading, memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.store import driver, tables
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.statements import prepare_insert
from lamplighter.repository.upkeep import leases, migrate
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.sessions import sessions
from postgres_server import PostgresServer

EVENTS: Final = sized(300_000, short=3_000)
MEMORIES: Final = sized(100_000, short=1_000)
SESSIONS: Final = EVENTS // 15
SERVICES: Final = tuple(f"svc{number}" for number in range(30))
END: Final = datetime(2026, 1, 1, tzinfo=UTC)
YEAR: Final = timedelta(days=365)
LIMIT_MS: Final = 100
AT_ONCE: Final = 1_000
ASKED: Final = 5
WORDS: Final = "takes 60"
"""The text of one memory in 80."""
COMMON: Final = "9"
"""The text of every second memory: the longest lists of memories with and without the text."""
EVERY: Final = "restart"
"""The text of all memories."""
LAST_MONTH: Final = END - timedelta(days=30)
FAILURES: Final = tuple(
    f"{what} {how}"
    for what in ("The HTTP check", "The TCP check", "The process", "The disk", "The certificate")
    for how in ("failed", "timed out", "recovered", "was repaired", "is slow", "needs a person")
)

Row = Mapping[str, Any]


def rows_of(seed: int = 1) -> Iterator[tuple[sa.Table, Sequence[Row]]]:
    """Return the rows of a home after years of operation, by table; the same for the same seed."""
    chance = random.Random(seed)
    yield tables.sessions, [_session(number, chance) for number in range(1, SESSIONS + 1)]
    yield tables.events, [_event(number, chance) for number in range(1, EVENTS + 1)]
    held = [_memory(number, chance) for number in range(1, MEMORIES + 1)]
    yield tables.memories, held
    yield tables.history, [each for memory in held for each in _changes(memory, chance)]
    yield tables.exposures, [_exposure(chance) for _ in range(MEMORIES * 2)]


def _at(share: float) -> datetime:
    return END - YEAR * (1 - share)


def _session(number: int, chance: random.Random) -> Row:
    started = _at(number / SESSIONS)
    return {
        "id": number,
        "tier": 1 if chance.random() < 0.9 else 2,
        "engine": "probe",
        "trigger": "scheduled",
        "status": "completed",
        "started_at": started,
        "ended_at": started + timedelta(seconds=20),
    }


def _event(number: int, chance: random.Random) -> Row:
    """Return an event; nine of ten repeat another event of their service."""
    text = chance.choice(FAILURES)
    if chance.random() < 0.1:
        text = f"{text} after {chance.randrange(1_000_000)} ms"
    return {
        "level": chance.choices(("info", "warning", "critical"), (6, 3, 1))[0],
        "service": chance.choice(SERVICES),
        "text": text,
        "session_id": 1 + (number - 1) * SESSIONS // EVENTS,
        "tier": 1,
        "source": "session",
        "created_at": _at(number / EVENTS),
    }


def _memory(number: int, chance: random.Random) -> dict[str, Any]:
    created = _at(number / MEMORIES)
    text = f"Part {number} takes {chance.randrange(1, 900)} s after a restart of the host"
    active = chance.random() < 0.8
    return {
        "id": number,
        "service": chance.choice(SERVICES),
        "category": chance.choice(OPERATIONAL),
        "observation": text,
        "content_hash": content_hash(text),
        "confidence": round(chance.uniform(0.3, 1.0) if active else chance.uniform(0, 0.3), 2),
        "active": active,
        "session_id": 1 + (number - 1) * SESSIONS // MEMORIES,
        "tier": 1,
        "source": "marker",
        "created_at": created,
        "updated_at": min(END, created + timedelta(days=chance.randrange(60))),
    }


def _changes(memory: Row, chance: random.Random) -> Iterator[Row]:
    """Return the entries of a memory's history, oldest first."""
    state = {
        name: memory[name]
        for name in ("observation", "confidence", "category", "service", "active")
    }
    yield _change(memory, "learned", "session", None, state, memory["created_at"], 1)
    for version in range(2, 2 + chance.randrange(4)):
        cause, actor = (
            ("edited", "operator") if chance.random() < 0.1 else ("reinforced", "session")
        )
        at = memory["created_at"] + (END - memory["created_at"]) * (version / 6)
        yield _change(memory, cause, actor, {**state, "confidence": 0.6}, state, at, version)


def _change(
    memory: Row, cause: str, actor: str, before: Row | None, after: Row, at: datetime, version: int
) -> Row:
    return {
        "memory_id": memory["id"],
        "version": version,
        "at": at,
        "actor": actor,
        "session_id": memory["session_id"] + version,
        "cause": cause,
        "reason": "",
        "before": before,
        "after": after,
    }


def _exposure(chance: random.Random) -> Row:
    return {
        "session_id": chance.randrange(1, SESSIONS + 1),
        "memory_id": 1 + int(chance.random() ** 2 * (MEMORIES - 1)),
        "version": 1,
        "position": chance.randrange(1, 60),
        "why": "",
        "line": "",
    }


async def fill(db: Database) -> None:
    """Store the rows, many per statement."""
    for table, rows in rows_of():
        statement = prepare_insert(table, *rows[0])
        for first in range(0, len(rows), AT_ONCE):
            async with writing(db):
                await db.run_many(statement, rows[first : first + AT_ONCE])


async def _page(db: Database, at: datetime, q: str = "", *, sort: Sort = Sort.CONFIDENCE) -> object:
    return await memories.page(db, MemoryFilter(active=True, q=q), sort=sort, limit=50, at=at)


async def _counts(db: Database, at: datetime | None, q: str = "") -> object:
    return await facets.facets(db, MemoryFilter(q=q), at=at)


async def _groups(db: Database, **asked: Any) -> object:
    return await events.page_groups(db, EventSelection(**asked), limit=50)


async def _audit(db: Database, topic: str) -> object:
    return await page_on_topic(db, topic, services=SERVICES, limit=50)


Question = Callable[[Database], Awaitable[object]]

QUESTIONS: Final[dict[str, Question]] = {
    "groups": lambda db: _groups(db),
    "groups_of_service": lambda db: _groups(db, service="svc3"),
    "groups_critical": lambda db: _groups(db, levels=("critical",)),
    "groups_of_month": lambda db: _groups(db, since=END - timedelta(days=30)),
    "groups_with_words": lambda db: _groups(db, q="certificate timed"),
    "views": lambda db: facets.views(db, MemoryFilter(by=END)),
    "views_with_words": lambda db: facets.views(db, MemoryFilter(by=END, q=WORDS)),
    "counts_with_words": lambda db: _counts(db, None, WORDS),
    "counts_as_of_with_words": lambda db: _counts(db, LAST_MONTH, WORDS),
    "page_as_of_with_words": lambda db: _page(db, LAST_MONTH, WORDS),
    "views_with_common_word": lambda db: facets.views(db, MemoryFilter(by=END, q=COMMON)),
    "counts_as_of_with_common_word": lambda db: _counts(db, LAST_MONTH, COMMON),
    "page_as_of_with_common_word": lambda db: _page(db, LAST_MONTH, COMMON),
    "views_with_word_of_all": lambda db: facets.views(db, MemoryFilter(by=END, q=EVERY)),
    "counts_as_of_with_word_of_all": lambda db: _counts(db, LAST_MONTH, EVERY),
    "page_as_of_with_word_of_all": lambda db: _page(db, LAST_MONTH, EVERY),
    "page_as_of_by_source": lambda db: _page(db, LAST_MONTH, sort=Sort.SOURCE),
    "page_as_of_last_month": lambda db: _page(db, LAST_MONTH),
    "page_as_of_spring": lambda db: _page(db, END - timedelta(days=270)),
    "counts_as_of_last_month": lambda db: _counts(db, LAST_MONTH),
    "counts_as_of_spring": lambda db: _counts(db, END - timedelta(days=270)),
    "audit_of_service": lambda db: _audit(db, "svc3"),
    "audit_of_words": lambda db: _audit(db, "takes 60"),
}


def _having(word: str) -> str:
    return f"memory_id IN (SELECT id FROM memories WHERE observation LIKE '%{word}%')"


_THEN: Final = "held_from <= '2025-12-02' AND held_to > '2025-12-02' AND present = 1"
_IN_ORDER: Final = "ORDER BY confidence DESC, updated_at DESC, memory_id LIMIT 51"
_MATCHES: Final = "service = 'svc3' OR observation LIKE '%svc3%' OR title LIKE '%svc3%'"
RAW: Final = {
    "groups": "SELECT * FROM event_groups ORDER BY last_id DESC LIMIT 51",
    "views": "SELECT name, count(*) FROM memory_views GROUP BY name",
    "page_as_of_last_month": "SELECT memory_id, confidence, updated_at FROM memory_periods"
    f" WHERE {_THEN} AND active = 1 {_IN_ORDER}",
    "counts_as_of_last_month": "SELECT service, category, active, count(*) FROM memories"
    " WHERE created_at <= '2025-12-02' GROUP BY service, category, active",
    "audit_of_service": f"SELECT count(*) FROM memories WHERE {_MATCHES}",
} | {
    f"{name}_with_{kind}": query.format(_having(word))
    for kind, word in (("common_word", COMMON), ("word_of_all", EVERY))
    for name, query in {
        "views": "SELECT name, count(*) FROM memory_views WHERE {} GROUP BY name",
        "counts_as_of": "SELECT service, category, project, active, count(*) FROM memory_periods"
        f" WHERE {_THEN} AND {{}} GROUP BY service, category, project, active",
        "page_as_of": "SELECT memory_id, confidence, updated_at FROM memory_periods"
        f" WHERE {_THEN} AND active = 1 AND {{}} {_IN_ORDER}",
    }.items()
}
"""The rows of these queries, read by one query of the driver."""


LEAST: Final = {
    "sessions": SESSIONS,
    "events": EVENTS,
    "event_groups": len(FAILURES) * len(SERVICES),
    "memories": MEMORIES,
    "history": MEMORIES,
    "exposures": MEMORIES,
    "memory_periods": MEMORIES,
    "memory_views": MEMORIES // 4,
    f"memories WHERE observation LIKE '%{WORDS}%'": MEMORIES // 200,
    f"memories WHERE observation LIKE '%{COMMON}%'": MEMORIES // 3,
    f"memories WHERE observation LIKE '%{EVERY}%'": MEMORIES,
}
"""The minimum numbers of rows: with fewer rows a query is too fast."""


def run() -> dict[str, Any]:
    """Run each query on both databases."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        path = Path(directory) / "lamplighter.db"
        sqlite = asyncio.run(_filled_and_measured(sqlite_url(path)))
        for name, query in RAW.items():
            _compare(sqlite[name], [_cpu_of(partial(_read_raw, path, query)) for _ in range(ASKED)])
    server = PostgresServer({"autovacuum": "on", "autovacuum_naptime": "1s"})  # as servers do
    try:
        url = server.create("years")
        postgres = asyncio.run(_filled_and_measured(url, server))
        for name, query in RAW.items():
            _compare(postgres[name], asyncio.run(_raw_postgres(url, query)))
    finally:
        server.remove()
    both = {"sqlite": sqlite, "postgres": postgres}
    missing = {name: found.pop("missing") for name, found in both.items()}
    slowest = max(found[name]["cpu_ms"] for found in both.values() for name in QUESTIONS)
    return {
        **both,
        "missing": {name: each for name, each in missing.items() if each},
        "slowest_ms": slowest,
        "held": slowest <= LIMIT_MS,
    }


def _compare(found: dict[str, float], raw: Sequence[float]) -> None:
    found["raw_cpu_ms"] = round(1_000 * median(raw), 1)
    found["times_raw"] = round(found["cpu_ms"] / (1_000 * median(raw)), 1)


async def _raw_postgres(url: str, query: str) -> list[float]:
    connection = await asyncpg.connect(url)
    try:
        return [await _cpu_while(connection.fetch(query)) for _ in range(ASKED)]
    finally:
        await connection.close()


async def _cpu_while(work: Awaitable[object]) -> float:
    cpu = ProcessorTime()
    await work
    return cpu.used()


def _cpu_of(work: Callable[[], object]) -> float:
    cpu = ProcessorTime()
    work()
    return cpu.used()


def _read_raw(path: Path, query: str) -> None:
    with closing(driver.connect(str(path))) as connection:
        connection.execute(query).fetchall()


async def _filled_and_measured(url: str, server: PostgresServer | None = None) -> dict[str, Any]:
    await asyncio.to_thread(migrate.upgrade, url)
    async with Database(url) as db:
        await fill(db)
        missing = await list_missing(db)
    if server is not None:
        server.ask("VACUUM ANALYZE", "years")
    found = await measure(url)
    return {**found, "first_session": await _first_session(url), "missing": missing}


async def list_missing(db: Database) -> list[str]:
    """Return the tables with fewer rows than the queries need."""
    counts = {name: await db.fetch_val(f"SELECT count(*) FROM {name}") for name in LEAST}
    return [
        f"{name}: {counts[name]} of {least}"
        for name, least in LEAST.items()
        if counts[name] < least
    ]


async def _first_session(url: str) -> dict[str, float]:
    """Start two sessions while most memories are due to decay; return the cost of the first."""
    now = END + timedelta(days=40)
    async with Database(url) as db:
        async with writing(db):
            own: dict[str, Any] = {"engine": "probe", "interval_seconds": 60, "dry_run": False}
            epoch = (await leases.acquire(db, pid=1, **own, now=now)).epoch
        due = await fading.find_due(db, now=now)
        began, cpu = time.perf_counter(), ProcessorTime()
        await sessions.begin(db, SessionPlan(), services=Services(), epoch=epoch, now=now)
        waited, used = time.perf_counter() - began, cpu.used()
    number = sum(map(len, due.by_weeks.values()))
    return {"due": number, "begin_cpu_ms": round(1_000 * used), "ms": round(1_000 * waited)}


async def measure(url: str) -> dict[str, dict[str, float]]:
    """Return the processor time and the elapsed time of each query, in milliseconds."""
    found: dict[str, dict[str, float]] = {}
    async with Database(url) as db:
        for name, ask in QUESTIONS.items():
            taken = []
            for number in range(ASKED + 1):
                began, cpu = time.perf_counter(), ProcessorTime()
                async with reading(db):
                    await ask(db)
                waited, used = time.perf_counter() - began, cpu.used()
                if number:  # the first one opens connections and compiles
                    taken.append((used, waited))
            used, waited = (round(1_000 * median(column), 1) for column in zip(*taken, strict=True))
            found[name] = {"cpu_ms": used, "ms": waited}
    return found


class ProcessorTime:
    """The processor time of this process and of the server that it started, from its creation on.

    Listing the processes of the server takes milliseconds, which do not count.
    """

    def __init__(self) -> None:
        self._server, self._own = _server_seconds(), time.process_time()

    def used(self) -> float:
        """Return the seconds used."""
        own = time.process_time() - self._own
        return own + _server_seconds() - self._server


def _server_seconds() -> float:
    used = 0.0
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error, OSError):
            used += _cpu_seconds_of(each)
    return used


def _cpu_seconds_of(process: psutil.Process) -> float:
    """Return processor seconds: Linux counts nanoseconds, psutil hundredths of a second."""
    exact = Path(f"/proc/{process.pid}/schedstat")
    if exact.exists():
        return int(exact.read_text().split()[0]) / 1e9
    return float(sum(process.cpu_times()[:2]))
