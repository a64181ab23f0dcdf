"""One memory through `remember`, and a context, with many stored memories."""

import random
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import sized, spread
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database, writing
from lamplighter.repository.graph import position
from lamplighter.repository.search import index
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.memory.analyze import catch_up
from lamplighter.usecases.memory.remember import LearningContext, remember
from lamplighter.usecases.sessions import prompts

HELD: Final = sized(10_000, short=500)
MANY: Final = sized(100_000, short=2_000)
NEW: Final = sized(300, short=20)
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS: Final = {"of_200_services": 200, "all_of_one_group": 1}
NO_PAGES: Final = {"LAMPLIGHTER_NOTEBOOK": "off"}
"""Otherwise the web process writes a page of each service during the measurement."""

THINGS: Final = tuple(f"{one}-{two}" for one in "abcdefghij" for two in range(30))
COLUMNS: Final = "service, category, observation, confidence, created_at, updated_at, content_hash"


async def remember_one() -> dict[str, Any]:
    """Remember new facts with 10,000 others, of 200 services and then all of one group.

    The baseline is the same statements by raw sqlite3, one transaction per memory. Limits: a third
    of its speed, and p95 <= 5 ms.
    """
    return {name: await _beside_others(services) for name, services in GROUPS.items()}


async def _beside_others(services: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", HELD, services=services)
        async with Database(url) as db:
            await catch_up(db, builtin_lexicon(), within=600)
            here = LearningContext(db=db, now=lambda: NOW, redact=Redactor())
            await _remembered(here, NEW, services)  # the first one reads the group
            ours = [await _remembered(here, number, services) for number in range(NEW)]
        raw = _raw(Path(directory) / "ours.db", services)
    found, floor = spread(ours), spread(raw)
    ratio = floor["p50_ms"] / found["p50_ms"]
    return {
        **found,
        "raw_p50_ms": floor["p50_ms"],
        "speed_of_raw": round(ratio, 2),
        "limit_ms": 5,
        "held": found["p95_ms"] <= 5,
    }


async def context() -> dict[str, Any]:
    """Build the block from 100,000 memories. Limit: p95 <= 20 ms."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", MANY)
        async with Database(url) as db:
            taken = []
            for _ in range(50):
                began = time.perf_counter()
                block = await prompts.build_memory_context(db)
                taken.append(time.perf_counter() - began)
    found = spread(taken)
    return {**found, "tokens": block.tokens, "limit_ms": 20, "held": found["p95_ms"] <= 20}


async def _remembered(here: LearningContext, number: int, services: int) -> float:
    candidate = Candidate(
        category=Category.TIMING,
        service=f"svc{number % services}",
        observation=f"A new fact number {number} of the host",
        tier=1,
        session_id=None,
    )
    began = time.perf_counter()
    await remember(here, candidate, now=NOW)
    return time.perf_counter() - began


async def indexed(url: str) -> None:
    """Index the memories; otherwise the web process does, for minutes, during the measurement.

    The graph counts as up to date too: to read 100,000 memories takes the graph several more
    minutes.
    """
    async with Database(url) as db:
        while await index.catch_up(db, seconds=60):
            pass
        async with writing(db):
            await position.save(db, replace(await position.get(db), memory_id=None))


def _filled(path: Path, count: int, *, services: int = 200) -> str:
    url = sqlite_url(path)
    migrate.upgrade(url)
    chance = random.Random(1)
    categories = list(Category)[:5]
    rows = (
        (
            f"svc{number % services}",
            categories[number // services % 5 if services > 1 else 0].value,
            f"Fact {number} of {chance.choice(THINGS)}: takes"
            f" {chance.randint(1, 900)} s after a restart of the host",
            round(chance.uniform(0.3, 1.0), 2),
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.000000Z",
            str(number),
        )
        for number in range(count)
    )
    with closing(driver.connect(str(path))) as connection:
        connection.execute("BEGIN")
        statement = f"INSERT INTO memories ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        connection.executemany(statement, rows)
        connection.execute("COMMIT")
    return url


def _raw(path: Path, services: int) -> list[float]:
    taken = []
    with closing(driver.connect(str(path))) as connection:
        last = connection.execute("SELECT max(seq) FROM changes").fetchone()[0] or 0
        for number in range(NEW):
            began = time.perf_counter()
            _statements(connection, number, f"svc{number % services}", last + number)
            taken.append(time.perf_counter() - began)
    return taken


def _statements(connection: driver.Connection, number: int, service: str, seq: int) -> None:
    """Run the statements of one `remember`, without the use case."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "SELECT service FROM memories WHERE service = ? LIMIT 1", (service,)
    ).fetchone()
    heard = (
        "SELECT 0, '', max(id), '' FROM memories UNION ALL SELECT * FROM (SELECT seq, entity,"
        " entity_id, op FROM changes WHERE seq > ? ORDER BY seq LIMIT 501)"
    )
    connection.execute(heard, (seq,)).fetchall()
    near = (
        "SELECT m.*, a.lexicon, a.observation, a.analysis FROM memories m"
        " LEFT JOIN analyses a ON a.memory_id = m.id"
        " WHERE m.id IN (SELECT value FROM json_each(?)) OR m.content_hash = ?"
        " OR (m.content_hash = '' AND m.observation = ?) ORDER BY m.id"
    )
    ids = str([number * 7 % HELD + each for each in range(10)])
    connection.execute(near, (ids, "x", "x")).fetchall()
    values = (service, "timing", f"A new fact {number}", 0.7, "2026", "2026", f"raw {number}")
    statement = f"INSERT INTO memories ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *"
    (memory, *_) = connection.execute(statement, values).fetchone()
    statement = "INSERT INTO changes (entity, entity_id, op, version, row, at) VALUES (?,?,?,?,?,?)"
    connection.execute(statement, ("memory", memory, "created", 1, "x" * 500, "2026"))
    statement = "INSERT INTO analyses VALUES (?, ?, ?, ?, ?)"
    connection.execute(statement, (memory, "x", "x" * 64, "x" * 60, "x" * 900))
    statement = (
        "INSERT INTO history (memory_id, version, at, actor, cause, after) VALUES (?,?,?,?,?,?)"
    )
    connection.execute(statement, (memory, 1, "2026", "session", "learned", "x" * 260))
    connection.execute("COMMIT")
