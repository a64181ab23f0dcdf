"""One memory through `remember`, and a context, with many memories held."""

import random
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import spread
from lamplighter.domain.memory import Candidate, Category
from lamplighter.domain.redact import Redactor
from lamplighter.repository import Database, driver, migrate
from lamplighter.repository.database import sqlite_url
from lamplighter.usecases import recall
from lamplighter.usecases.remember import Manner, remember

HELD: Final = 10_000
MANY: Final = 100_000
NEW: Final = 300
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS: Final = "service, category, observation, confidence, created_at, updated_at, content_hash"


async def remember_one() -> dict[str, Any]:
    """Remember new facts beside 10,000 others; beside it the same statements by raw sqlite3."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", HELD)
        async with Database(url) as db:
            ours = [await _remembered(db, number) for number in range(NEW)]
        raw = _raw(Path(directory) / "raw.db")
    found, floor = spread(ours), spread(raw)
    ratio = floor["p50_ms"] / found["p50_ms"]
    return {**found, "raw_p50_ms": floor["p50_ms"], "speed_of_raw": round(ratio, 2)}


async def context() -> dict[str, Any]:
    """Build the block from 100,000 memories. Held to p95 <= 20 ms."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", MANY)
        async with Database(url) as db:
            taken = []
            for _ in range(50):
                began = time.perf_counter()
                block = await recall.build_memory_context(db)
                taken.append(time.perf_counter() - began)
    found = spread(taken)
    return {**found, "tokens": block.tokens, "limit_ms": 20, "held": found["p95_ms"] <= 20}


async def _remembered(db: Database, number: int) -> float:
    candidate = Candidate(
        category=Category.TIMING,
        service=f"svc{number % 200}",
        observation=f"A new fact number {number}",
        tier=1,
        session_id=None,
    )
    began = time.perf_counter()
    await remember(db, replace(candidate), now=NOW, manner=Manner(redact=Redactor()))
    return time.perf_counter() - began


def _filled(path: Path, count: int) -> str:
    url = sqlite_url(path)
    migrate.upgrade(url)
    chance = random.Random(1)
    categories = list(Category)[:5]
    rows = (
        (
            f"svc{number % 200}",
            categories[number // 200 % 5].value,
            f"Fact {number}: takes {chance.randint(1, 900)} s after a restart of the host",
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


def _raw(path: Path) -> list[float]:
    _filled(path, HELD)
    taken = []
    with closing(driver.connect(str(path))) as connection:
        for number in range(NEW):
            began = time.perf_counter()
            _statements(connection, number)
            taken.append(time.perf_counter() - began)
    return taken


def _statements(connection: driver.Connection, number: int) -> None:
    """Run what one `remember` runs, without any of it."""
    service = f"svc{number % 200}"
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "SELECT service FROM memories WHERE service = ? LIMIT 1", (service,)
    ).fetchone()
    query = (
        "SELECT * FROM memories WHERE category = 'timing' AND service IS ?"
        " AND (active = 1 OR content_hash = ?) ORDER BY confidence DESC, id"
    )
    connection.execute(query, (service, "x")).fetchall()
    values = (service, "timing", f"A new fact {number}", 0.7, "2026", "2026", str(number))
    statement = f"INSERT INTO memories ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *"
    connection.execute(statement, values).fetchone()
    statement = "INSERT INTO changes (entity, entity_id, op, version, row, at) VALUES (?,?,?,?,?,?)"
    connection.execute(statement, ("memory", number, "created", 1, "x" * 400, "2026"))
    statement = (
        "INSERT INTO history (memory_id, version, at, actor, cause, after) VALUES (?,?,?,?,?,?)"
    )
    connection.execute(statement, (number, 1, "2026", "session", "learned", "x" * 120))
    connection.execute("COMMIT")
