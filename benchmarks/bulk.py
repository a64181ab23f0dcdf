"""Decay and bulk operations on 100,000 memories: their duration, and how long other writers wait.

Limits: 2 s, and a wait of 50 ms for another writer.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import spread, timed
from benchmarks.memory import MANY, NOW, _filled
from lamplighter.repository import Database
from lamplighter.repository.memory.memories import MemoryFilter
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import file_of
from lamplighter.usecases.memory import bulk, journal
from lamplighter.usecases.memory.bulk import BulkAction
from lamplighter.usecases.memory.fade import fade

DUE: Final = NOW + timedelta(days=40)
LATER: Final = NOW + timedelta(days=1)
LIMIT_SECONDS: Final = 2.0
LIMIT_WAIT_MS: Final = 50.0
BEFORE_SECONDS: Final = 0.3
OTHER: Final = """
import sys, time
from lamplighter.repository.store import driver

connection = driver.connect(sys.argv[1])
statement = "INSERT INTO events (level, text, created_at) VALUES ('info', 'Another writer', '2026')"
print("ready", flush=True)
while True:
    began = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(statement)
    connection.execute("COMMIT")
    print(time.perf_counter() - began, flush=True)
    time.sleep(0.004)
"""
STATE: Final = (
    "json_object('observation', observation, 'confidence', round({}, 2), 'active', active,"
    " 'category', category, 'service', service, 'inactive_reason', inactive_reason,"
    " 'pinned', pinned, 'trust', trust, 'updated_at', updated_at, 'decayed_weeks', decayed_weeks)"
)

Work = Callable[[Database], Awaitable[Any]]


async def fading() -> dict[str, Any]:
    """Apply one week of decay to each of 100,000 memories."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", MANY)

        async def work(db: Database) -> int:
            return await fade(db, now=DUE)

        found = await measured(url, work)
        raw = _raw(Path(directory) / "raw.db")
        async with Database(url) as db:
            began = time.perf_counter()
            await fade(db, now=DUE)
            idle = time.perf_counter() - began
    ratio = round(raw / found["seconds"], 2)
    nothing = round(idle * 1_000, 1)
    return {**found, "nothing_due_ms": nothing, "raw_seconds": round(raw, 2), "speed_of_raw": ratio}


async def acts() -> dict[str, Any]:
    """Change, revert and delete 100,000 memories by one filter."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = _filled(Path(directory) / "ours.db", MANY)
        for name, work in (
            ("adjust", _acting(BulkAction(action="adjust", value=-0.1))),
            ("undo", _undoing),
            ("deactivate", _acting(BulkAction(action="deactivate"))),
            ("activate", _acting(BulkAction(action="activate"))),
            ("confidence", _acting(BulkAction(action="confidence", value=0.8))),
            ("delete", _acting(BulkAction(action="delete"))),
        ):
            found[name] = await measured(url, work)
        raw = _raw(Path(directory) / "raw.db")
    ratio = round(raw / found["adjust"]["seconds"], 2)
    return {**found, "raw_seconds": round(raw, 2), "speed_of_raw": ratio}


async def measured(url: str, work: Work) -> dict[str, Any]:
    """Measure the operation while another process writes one row every few milliseconds."""
    other = _other(url)
    try:
        assert other.stdout
        other.stdout.readline()
        await asyncio.sleep(BEFORE_SECONDS)
        async with Database(url) as db:
            began = time.perf_counter()
            result = await work(db)
            taken = time.perf_counter() - began
        await asyncio.sleep(BEFORE_SECONDS)
    finally:
        other.terminate()
        lines = other.communicate(timeout=10)[0].split()
    changed = result if isinstance(result, int) else len(result.ids)
    waits = spread([float(line) for line in lines[:-1]])
    held = taken <= LIMIT_SECONDS and waits["max_ms"] <= LIMIT_WAIT_MS
    return {"changed": changed, "seconds": round(taken, 2), "others": waits, "held": held}


def _other(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER, str(file_of(url))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _acting(act: BulkAction) -> Work:
    async def work(db: Database) -> bulk.BulkResult:
        return await bulk.apply_action(db, MemoryFilter(), act, now=LATER)

    return work


async def _undoing(db: Database) -> journal.RevertResult:
    return await journal.undo(db, 1, now=LATER)


def _raw(path: Path) -> float:
    """Time the same two statements over all rows, in one transaction of raw sqlite3."""
    _filled(path, MANY)
    with closing(driver.connect(str(path))) as connection:
        return timed(lambda: _statements(connection))


def _statements(connection: driver.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "INSERT INTO history (memory_id, version, at, actor, cause, reason, before, after)"
        " SELECT id, version + 1, '2026-02-10T00:00:00.000000Z', 'supervisor', 'faded',"
        " 'not confirmed for 1 more week',"
        f" {STATE.format('confidence')}, {STATE.format('confidence - 0.1')} FROM memories"
    )
    connection.execute(
        "UPDATE memories SET confidence = round(confidence - 0.1, 2),"
        " decayed_weeks = decayed_weeks + 1, version = version + 1"
    )
    connection.execute("COMMIT")
