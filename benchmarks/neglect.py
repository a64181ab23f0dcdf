"""A home without care for three months, and what the organizer and verification repair.

Seeded, and stored by the use cases at a simulated time: agents capture episodes, few state facts
under a topic key, sessions report and contradict memories of services, and a person corrects a
little. Then the health is measured, the organizer runs, and memories are verified against a source
that confirms most claims and refutes some.
"""

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from zlib import crc32

from benchmarks.episodes import EPISODE, Episode, generate
from benchmarks.measure import sized
from lamplighter.domain.health.figures import MeasurementTrigger, MemoryMeasurement
from lamplighter.domain.health.findings import judge_figures
from lamplighter.domain.memory.memory import Category, Edit, Source, Trust
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.verify.claims import TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.context import Context
from lamplighter.usecases.health.measure import measure
from lamplighter.usecases.memory import curate, knowledge
from lamplighter.usecases.memory.remember import LearningContext, remember
from lamplighter.usecases.organize.run import organize
from lamplighter.usecases.verify.batch import verify_all

END: Final = datetime(2026, 4, 1, 12, tzinfo=UTC)
DAYS: Final = 90
WINDOW: Final = timedelta(minutes=15)
FACT_EVERY: Final = 12
REPORT_EVERY: Final = 15
CORRECT_EVERY: Final = 60
FACT: Final = replace(
    EPISODE,
    category=Category.ARCHITECTURE,
    source=Source.CLIENT,
    confidence=0.7,
    trust=Trust.OBSERVED,
)
REPORT: Final = replace(
    EPISODE,
    category=Category.TIMING,
    source=Source.MARKER,
    confidence=0.7,
    trust=Trust.OBSERVED,
    tier=1,
    project="ops",
)


class SomeTruth:
    """A source that confirms most claims and refutes some, always the same claims."""

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        """Confirm four claims of five."""
        return {each: found for each in claims if (found := _answer(each, project)) is not None}


def _answer(claim: TextClaim, project: str) -> Answer | None:
    drawn = crc32(f"{project} {claim.name}".encode()) % 10
    if drawn >= 8:
        return None
    state = AnswerState.REFUTED if drawn == 0 else AnswerState.CONFIRMED
    return Answer(state, "simulation", claim.name)


async def neglect(db: Database, count: int, *, seed: int = 7) -> None:
    """Store three months of neglect: `count` episodes, with facts and reports between them."""
    chance = random.Random(seed)
    for number, episode in enumerate(generate(count, now=END, days=DAYS, seed=seed)):
        here = Context(db=db, now=lambda at=episode.at: at, redact=Redactor())  # type: ignore[misc]
        candidate = replace(
            EPISODE,
            observation=episode.text,
            service=episode.service,
            project=episode.project,
        )
        await knowledge.save(here, candidate, window=WINDOW)
        if number % FACT_EVERY == 0:
            await _state_fact(here, episode, number, chance)
        if number % REPORT_EVERY == 0:
            await _report(here, chance)
        if number % CORRECT_EVERY == CORRECT_EVERY - 1:
            await _correct(here, chance)


async def _state_fact(here: Context, episode: Episode, number: int, chance: random.Random) -> None:
    text = f"The entry point of part {number} is src/part{number}/app.py"
    key = f"part/{number}" if chance.random() < 0.5 else None
    candidate = replace(FACT, observation=text, project=episode.project, topic_key=key)
    await knowledge.save(here, candidate, window=WINDOW)


async def _report(here: Context, chance: random.Random) -> None:
    service = chance.choice(("checkout", "search", "mailer"))
    seconds = chance.choice((60, 60, 60, 90, 20))
    candidate = replace(
        REPORT, service=service, observation=f"Takes {seconds}s to start after a restart"
    )
    learning = LearningContext(db=here.db, now=here.now, redact=here.redact)
    await remember(learning, candidate, now=here.now())


async def _correct(here: Context, chance: random.Random) -> None:
    text = f"The port of the proxy is {chance.randrange(1_000, 9_000)}"
    candidate = replace(FACT, source=Source.OPERATOR, observation=text, trust=Trust.TRUSTED)
    memory = await curate.create(here, candidate)
    await curate.edit(here, memory.id, Edit(observation=f"{text}1"), version=None)


async def rot_and_repair(db: Database, count: int) -> dict[str, MemoryMeasurement]:
    """Neglect a home; return its health then, after the organizer, and after verification."""
    await neglect(db, count)
    found = {"neglected": await _measure(db, END)}
    await organize(_context(db, END), trigger="operator")
    found["organized"] = await _measure(db, END + timedelta(minutes=10))
    later = END + timedelta(minutes=20)
    await verify_all(_context(db, later), SomeTruth())
    found["verified"] = await _measure(db, later)
    return found


def _context(db: Database, at: datetime) -> Context:
    return Context(db=db, now=lambda: at, redact=Redactor())


async def _measure(db: Database, at: datetime) -> MemoryMeasurement:
    return await measure(_context(db, at), trigger=MeasurementTrigger.OPERATOR, compare=True)


def run(count: int = sized(6_000, short=300)) -> dict[str, Any]:
    """Return the findings of each step."""

    async def work(url: str) -> dict[str, MemoryMeasurement]:
        async with Database(url) as db:
            return await rot_and_repair(db, count)

    with tempfile.TemporaryDirectory() as directory:
        url = sqlite_url(Path(directory) / "lamplighter.db")
        migrate.upgrade(url)
        began = perf_counter()
        found = asyncio.run(work(url))
    return {
        "episodes": count,
        "seconds": round(perf_counter() - began, 1),
        **{
            step: {
                each.name: f"{each.value:g} {each.state}"
                for each in judge_figures(measured.figures)
            }
            for step, measured in found.items()
        },
    }
