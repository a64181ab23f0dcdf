"""The organizer on a month of realistic operation: counts, ratio, time, memory and losses.

Losses are measured by questions with known answers, searched before and after: about facts that
episodes state, and about one detail of single episodes. Limits: the backlog ends within 5 minutes
with under 1,000 memories that are not distilled and under 5 % near-duplicates; a week of session
logs is compressed 50:1, facts not counted; no question about a fact is lost; and three times as
many texts of one form take at most 5 times as long to compare.
"""

import asyncio
import random
import re
import resource
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from string import ascii_lowercase
from time import perf_counter
from typing import Any, Final

from benchmarks.episodes import EPISODE, Episode, generate, session_logs
from benchmarks.measure import sized, timed
from lamplighter.domain.memory.memory import MemoryId, new_memory
from lamplighter.domain.organize.digest import COMPRESSED_AFTER
from lamplighter.domain.organize.duplicates import count_duplicates, find_duplicates
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.organize import runs
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.context import Context
from lamplighter.usecases.organize.run import organize
from lamplighter.usecases.search.find import find

NOW: Final = datetime(2026, 4, 1, 12, tzinfo=UTC)
BACKLOG: Final = sized(6_300, short=300)
WEEK: Final = sized(1_500, short=100)
ASKED: Final = sized(200, short=20)
BATCH: Final = 500
HITS: Final = 10
FORMS: Final = sized(1_000, short=400)
ALIKE: Final = (
    "The backup of the volume {} to the offsite store finished late without an error in its log",
    "The backup of the volume {}-7 to the offsite store finished late without an error in its log",
)
MAX_GROWTH: Final = 5
Question = tuple[str, str, str, str | None]
"""The project, the question, the answer, and the service."""

_DETAIL: Final = re.compile(r"\b(?:[0-9a-f]{8}|\d+)\b")


def run() -> dict[str, Any]:
    """Report a month, the same number of episodes in three months, and a week."""
    month = _measured(list(generate(BACKLOG, now=NOW)))
    backlog = _measured(list(generate(BACKLOG, now=NOW, days=90)))
    week = _measured(list(session_logs(WEEK, now=NOW - timedelta(days=8))))
    held = all(
        each["seconds"] <= 300
        and each["undistilled"][1] < 1_000
        and each["duplicates_left"] < 0.05
        and each["facts"][1] >= each["facts"][0]
        for each in (month, backlog, week)
    ) and week["ratio"] >= sized(50, short=10)
    growth = {form: _growth(form) for form in ALIKE}
    held = held and max(growth.values()) <= MAX_GROWTH
    return {"month": month, "backlog": backlog, "week": week, "growth": growth, "held": held}


def _growth(form: str) -> float:
    """Return how many times as long three times as many texts of one form take to compare."""
    texts = [form.format(name) for name in islice(_names(), 3 * FORMS)]
    held = [
        replace(new_memory(replace(EPISODE, observation=text), now=NOW), id=MemoryId(number))
        for number, text in enumerate(texts, 1)
    ]
    few, many = (timed(partial(find_duplicates, some)) for some in (held[:FORMS], held))
    return round(many / few, 1)


def _names() -> Iterator[str]:
    """Yield random words of seven letters."""
    chosen = random.Random(7)
    while True:
        yield "".join(chosen.choices(ascii_lowercase, k=7))


def _measured(episodes: Sequence[Episode]) -> dict[str, Any]:
    async def work(url: str) -> dict[str, Any]:
        async with Database(url) as db:
            return await _organized(db, episodes)

    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        url = sqlite_url(Path(directory) / "lamplighter.db")
        migrate.upgrade(url)
        return asyncio.run(work(url))


async def _organized(db: Database, episodes: Sequence[Episode]) -> dict[str, Any]:
    for at in range(0, len(episodes), BATCH):
        async with writing(db):
            for each in episodes[at : at + BATCH]:
                candidate = replace(
                    EPISODE, observation=each.text, service=each.service, project=each.project
                )
                await memories.insert(db, candidate, now=each.at)
    facts, details = _questions(episodes)
    before = [await _answered(db, each) for each in (facts, details)]
    began = perf_counter()
    here = Context(db=db, now=lambda: NOW, redact=Redactor())
    counts = (await organize(here, trigger="operator")).counts
    seconds = perf_counter() - began
    after = [await _answered(db, each) for each in (facts, details)]
    young = sum(each.at > NOW - COMPRESSED_AFTER for each in episodes)
    rows = [each async for some in runs.active_knowledge(db) for each in some]
    return {
        "episodes": len(episodes),
        **{
            name: counts.get(name, 0)
            for name in ("duplicates", "compressed", "digests", "facts", "searched")
        },
        "conflicts": counts["conflicts"],
        "undistilled": (counts["raw"], counts["raw_after"]),
        "young": young,
        "duplicates_left": round(count_duplicates(rows)[0] / max(1, len(rows)), 4),
        "ratio": round(counts["compressed"] / max(1, counts["digests"]), 1),
        "ratio_with_facts": round(
            counts["compressed"] / max(1, counts["digests"] + counts["facts"]), 1
        ),
        "seconds": round(seconds, 1),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "questions": (len(facts), len(details)),
        "facts": (before[0], after[0]),
        "details": (before[1], after[1]),
    }


def _questions(episodes: Sequence[Episode]) -> tuple[list[Question], list[Question]]:
    """Return questions about facts, and about the first figure of some other episodes."""
    facts = {each.text: each for each in episodes if each.answers}
    found: list[Question] = [
        (each.project, each.text.replace(each.answers[0], " "), each.answers[0], "")
        for each in facts.values()
    ]
    plain = [each for each in episodes if not each.answers and _DETAIL.search(each.text)]
    chosen = random.Random(7).sample(plain, min(ASKED, len(plain)))
    details: list[Question] = [
        (each.project, _DETAIL.sub(" ", each.text), _DETAIL.findall(each.text)[0], each.service)
        for each in chosen
    ]
    return found[:ASKED], details


async def _answered(db: Database, questions: Sequence[Question]) -> float:
    """Return the share of questions whose answer is in one of the first hits."""
    right = 0
    for project, query, answer, service in questions:
        wanted = SearchRequest(
            query=query,
            layers=(SearchLayer.MEMORY,),
            project=project,
            service=service or None,
            literal=True,
            limit=HITS,
        )
        found = await find(db, wanted, now=NOW)
        right += any(answer in each.observation for each in found.memories)
    return round(right / max(1, len(questions)), 3)
