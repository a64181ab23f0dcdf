"""Verification in a separate process, killed at any moment and continued."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from lamplighter.domain.memory.memory import Category, Source
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from organizer_kills import EPISODE, NOON, kill_runs

WORKS: Final = """
import asyncio, sys
from datetime import datetime
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.repository import Database
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.batch import verify_all

class Sources:
    async def answer(self, claims, *, project):
        states = (AnswerState.CONFIRMED, AnswerState.REFUTED)
        return {
            each: Answer(states["7" in each.name], "files", f"{each.name}: evidence")
            for each in claims
        }

async def main(url, now):
    async with Database(url) as db:
        at = datetime.fromisoformat(now)
        print("begin", flush=True)
        await verify_all(Context(db=db, now=lambda: at, redact=Redactor()), Sources())

asyncio.run(main(*sys.argv[1:]))
"""
STATE: Final = (
    "SELECT observation, confidence, trust, distilled, active, version,"
    " verified_at IS NOT NULL AS verified FROM memories",
    "SELECT old_id, new_id, kind, state, said FROM reviews",
    "SELECT memory_id, cause FROM history",
    "SELECT memory_id, state, version FROM verifications",
)


def fill_database(url: str, count: int) -> None:
    """Store memories that sources confirm or refute, and some without a claim."""

    async def fill() -> None:
        async with Database(url) as db, writing(db):
            for number in range(count):
                text = f"The entry point of part {number} is src/part{number}/app.py"
                if number % 5 == 0:
                    text = f"Looked at part {number} because it was slow"
                candidate = replace(
                    EPISODE,
                    category=Category.ARCHITECTURE,
                    source=Source.EXTRACTED,
                    observation=text,
                    project="shop",
                )
                await memories.insert(db, candidate, now=NOON - timedelta(days=1))

    asyncio.run(fill())


def state_of(url: str) -> list[Counter[Any]]:
    """Return the state of all memories, reviews, history entries and verifications."""

    async def read() -> list[Counter[Any]]:
        async with Database(url) as db:
            return [Counter(tuple(row) for row in await db.fetch_all(each)) for each in STATE]

    return asyncio.run(read())


def kill_verifications(url: str, kills: int, seed: int, longest: float) -> int:
    """Kill verifications until one completes; return how many were killed during work."""
    return kill_runs(url, kills, seed, longest, WORKS)
