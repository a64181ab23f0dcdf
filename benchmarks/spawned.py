"""The cost of 300 sessions compared with starting the same engine bare, and their leftovers."""

import asyncio
import json
import shlex
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil

from benchmarks.measure import sized, spread
from lamplighter import clock
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan, Status
from lamplighter.engines.exec import ExecEngine
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.supervisor.daemon import Supervisor
from lamplighter.supervisor.lease import Lock
from lamplighter.supervisor.run import runner
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles

SESSIONS: Final = sized(300, short=20)
FIRST: Final = sized(50, short=10)
"""The sessions after which everything is loaded that loads at first use."""

GROWTH: Final = 1.10
DONE: Final = {"type": "result", "is_error": False, "result": "well", "num_turns": 1}


async def run() -> dict[str, Any]:
    """Run sessions of an engine that prints one line, in turn with the bare engine."""
    argv = ["/usr/bin/printf", "%s\n", json.dumps(DONE)]
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        path = Path(directory)
        migrate.upgrade(sqlite_url(path / "lamplighter.db"))
        async with Database(sqlite_url(path / "lamplighter.db")) as db:
            return await _measured(_supervisor(db, path, shlex.join(argv)), argv)


def _supervisor(db: Database, path: Path, command: str) -> Supervisor:
    context = SessionContext(
        db=db,
        files=SessionFiles(path / "sessions"),
        engines={"exec": ExecEngine(command)},
        redact=Redactor(),
        now=clock.now,
        active=Configuration(engine="exec"),
        sockets=path,
    )
    return Supervisor(context, Services, Lock(path / "lock"))


async def _measured(supervisor: Supervisor, argv: list[str]) -> dict[str, Any]:
    assert await supervisor.lead()
    sessions: list[float] = []
    bare: list[float] = []
    before = _look()
    for count in range(SESSIONS):
        began = time.perf_counter()
        await (await asyncio.create_subprocess_exec(*argv, stdout=-3)).wait()
        bare.append(time.perf_counter() - began)
        began = time.perf_counter()
        session = await runner.run(supervisor.context, SessionPlan(engine="exec"), Services())
        sessions.append(time.perf_counter() - began)
        assert session.status is Status.COMPLETED
        if count == FIRST:
            before = _look()
    after = _look()
    await supervisor.step_down()
    growth = round(after["rss_mb"] / before["rss_mb"], 3)
    steady = all(after[what] <= before[what] for what in ("descriptors", "threads", "children"))
    return {
        "session": spread(sessions),
        "bare_spawn": spread(bare),
        "times_a_bare_spawn": round(median(sessions) / median(bare), 1),
        f"after_{FIRST}": before,
        f"after_{SESSIONS}": after,
        "growth": growth,
        "held": steady and growth <= GROWTH,
    }


def _look() -> dict[str, float]:
    process = psutil.Process()
    return {
        "rss_mb": round(process.memory_info().rss / 2**20, 1),
        "threads": process.num_threads(),
        "descriptors": process.num_fds(),
        "children": len(process.children(recursive=True)),
    }
