"""Organizer runs in a separate process, killed at any moment and continued."""

import asyncio
import random
import subprocess
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from benchmarks.episodes import EPISODE, generate

import nursery
from lamplighter.domain.services.event import Level
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.organize import runs
from lamplighter.repository.services import events
from lamplighter.usecases.organize import view

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORKS: Final = """
import asyncio, sys
from datetime import UTC, datetime
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database
from lamplighter.usecases.context import Context
from lamplighter.usecases.organize.run import organize

async def main(url, now):
    async with Database(url) as db:
        at = datetime.fromisoformat(now)
        print("begin", flush=True)
        await organize(Context(db=db, now=lambda: at, redact=Redactor()), trigger="operator")
        print("end", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def fill(url: str, count: int) -> None:
    """Store a month of episodes, and some events that state facts."""
    async with Database(url) as db, writing(db):
        for number in range(5):
            text = f"From now on rotate the keys of part{number} every {number + 5} days."
            await events.insert(db, Level.INFO, text, source="operator", now=NOON)
        for each in generate(count, now=NOON):
            candidate = replace(
                EPISODE, observation=each.text, service=each.service, project=each.project
            )
            await memories.insert(db, candidate, now=each.at)


async def final_state(url: str) -> tuple[Counter[Any], list[dict[str, int]]]:
    """Return the state of all memories, and the counts of the runs that changed any.

    A process that was killed after its run ended is followed by a run that changes nothing.
    """
    async with Database(url) as db:
        rows = await db.fetch_all(
            "SELECT observation, project, service, active, inactive_reason, distilled, source,"
            " topic_key FROM memories"
        )
        found = (await runs.page(db, limit=500)).items
    return Counter(tuple(dict(row).values()) for row in rows), [
        dict(each.counts) for each in found if each.act_id
    ]


def kill_runs(url: str, kills: int, seed: int, longest: float, program: str = WORKS) -> int:
    """Kill runs at random moments until one completes; return how many were killed during work.

    Each process has a later clock: none waits for the heartbeat of the previous one.
    """
    chance, killed = random.Random(seed), 0
    for number in range(kills + 1):
        now = NOON + timedelta(seconds=16 * number)
        process = nursery.python("-c", program, url, now.isoformat(), stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            process.stdout.readline()
            if number == kills:
                assert process.wait(timeout=120) == 0
                break
            process.wait(timeout=chance.uniform(0, longest))
            break
        except subprocess.TimeoutExpired:
            process.kill()
            if b"end" in process.stdout.read():
                break
            killed += 1
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    return killed


def run_once(url: str) -> None:
    """Run the organizer without a kill."""
    assert kill_runs(url, 0, 0, 0) == 0


def undo_run(url: str) -> None:
    """Undo the newest run: the next run has the same work."""

    async def undo() -> None:
        async with Database(url) as db:
            run = await runs.newest(db)
            assert run is not None
            await view.undo(db, run.id, now=NOON)

    asyncio.run(undo())


def fill_database(url: str, count: int) -> None:
    """Store a month of episodes in a database."""
    asyncio.run(fill(url, count))


def state_of(url: str) -> tuple[Counter[Any], list[dict[str, int]]]:
    """Return the state of all memories, and the counts of the runs."""
    return asyncio.run(final_state(url))
