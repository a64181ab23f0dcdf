"""The search in 100,000 memories (1,000,000 with --full), compared with the raw query of FTS5.

Limits of p95: scoped 10 ms (p50 3; with --full 60), any 25, `knowledge.keep` 10, the context of an
agent 20.
"""

import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import sized, spread
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.search.search import SearchRequest
from lamplighter.domain.search.terms import terms
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database
from lamplighter.repository.search import index
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.clients.agent_context import agent_context
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.search.session_search import find

HELD: Final = sized(100_000, short=2_000)
FULL: Final = sized(1_000_000, short=4_000)
ASKED: Final = sized(200, short=20)
PROJECTS: Final = 50
SERVICES: Final = 200
VOCABULARY: Final = 20_000
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
SYLLABLES: Final = (
    *("ba", "ce", "di", "fo", "gu", "ha", "jo", "ki", "lu", "me", "no", "pi", "ra", "se", "ti"),
    *("vo", "wa", "xe", "zu", "bri", "cla", "dro", "fle", "gra", "plu", "sto", "tri"),
)
COLUMNS: Final = (
    "service, category, observation, confidence, created_at, updated_at, title, tags, project,"
    " session_id, kind, source"
)
RAW: Final = (
    "SELECT rowid, bm25(terms_index, 3, 1, 2, 0.25, 0) AS score FROM terms_index"
    " WHERE terms_index MATCH ? ORDER BY score LIMIT 10"
)

SCOPED: Final[dict[str, dict[str, Any]]] = {
    "scoped": {"project": "project 7"},
    "scoped_common": {"project": "project 7"},
    "service": {"service": "svc7"},
}

Ask = Callable[[], Awaitable[object]]


class Words:
    """Words by frequency: the first are in every sentence, the last in hardly any."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        spoken = itertools.product(SYLLABLES, repeat=3)
        self.all = ["".join(each) for each in itertools.islice(spoken, VOCABULARY)]
        random.Random(7).shuffle(self.all)
        weights = (1.0 / rank for rank in range(1, len(self.all) + 1))
        self.weights = list(itertools.accumulate(weights))

    def some(self, count: int) -> list[str]:
        """Return words as a sentence contains them."""
        return self.chance.choices(self.all, cum_weights=self.weights, k=count)

    def between(self, first: int, last: int, count: int) -> list[str]:
        """Return different words that occur in about this number of sentences."""
        return self.chance.sample(self.all[first:last], count)


def run() -> dict[str, Any]:
    """Measure the search."""
    return asyncio.run(_run(FULL if "--full" in sys.argv else HELD))


async def _run(held: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        path = Path(directory) / "ours.db"
        began = time.perf_counter()
        _fill(path, held)
        async with Database(sqlite_url(path)) as db:
            taken = await index.catch_up(db, seconds=7_200)
            filled = time.perf_counter() - began
            found: dict[str, Any] = {"held": held, "taken_in": taken}
            found["a_second"] = round(taken / filled)
            found |= await _searches(db, path)
            found["keep"] = _held(await _times(_keeping(db)), 10)
            found["context"] = _held(await _times(_context(db)), 20)
        found["bytes"] = path.stat().st_size
    return found


async def _searches(db: Database, path: Path) -> dict[str, Any]:
    words = Words(2)
    queries = {
        "rare": [words.between(3_000, 9_000, 3) for _ in range(ASKED)],
        "mixed": [[*words.some(4), *words.between(500, 5_000, 2)] for _ in range(ASKED)],
        "common": [words.between(0, 12, 6) for _ in range(ASKED)],
        "scoped": [words.some(6) for _ in range(ASKED)],
        "scoped_common": [words.between(0, 12, 6) for _ in range(ASKED)],
        "service": [words.some(6) for _ in range(ASKED)],
    }
    full = "--full" in sys.argv
    scoped = 60 if full else 10
    limits = {**dict.fromkeys(queries, 25), **dict.fromkeys(SCOPED, scoped)}
    found = {}
    for name, asked in queries.items():
        texts = [" ".join(each) for each in asked]
        wanted = [SearchRequest(query=text, **SCOPED.get(name, {})) for text in texts]
        await find(db, wanted[0], now=NOW)
        ours = await _times([_finding(db, each) for each in wanted])
        raw = spread(_raw(path, texts[:50]))
        found[name] = {
            **_held(ours, limits[name]),
            "raw_p50_ms": raw["p50_ms"],
            "times_raw": round(spread(ours)["p50_ms"] / max(0.01, raw["p50_ms"]), 2),
        }
    return found


def _here(db: Database) -> Context:
    return Context(db=db, now=lambda: NOW, redact=Redactor())


def _finding(db: Database, wanted: SearchRequest) -> Ask:
    return lambda: find(db, wanted, now=NOW)


def _keeping(db: Database) -> list[Ask]:
    words = Words(3)
    said = [
        Candidate(
            category=Category.DECISION,
            service=None,
            observation=" ".join(words.some(25)),
            title=" ".join(words.some(5)),
            tier=0,
            session_id=1 + number % 50,
            source=Source.CLIENT,
            project=f"project {number % PROJECTS}",
        )
        for number in range(ASKED)
    ]
    here, window = _here(db), Configuration().duplicate_window
    return [
        lambda each=each: knowledge.save(here, each, window=window)  # type: ignore[misc]
        for each in said
    ]


def _context(db: Database) -> list[Ask]:
    words = Words(4)
    here, prompts = _here(db), [" ".join(words.some(60)) for _ in range(ASKED)]
    return [
        lambda text=text: agent_context(here, "project 7", text)  # type: ignore[misc]
        for text in prompts
    ]


async def _times(works: Sequence[Ask]) -> list[float]:
    taken = []
    for work in works:
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return taken


def _held(taken: Sequence[float], limit: float) -> dict[str, Any]:
    found = spread(taken)
    return {**found, "limit_ms": limit, "held": found["p95_ms"] <= limit}


def _raw(path: Path, texts: Sequence[str]) -> list[float]:
    taken = []
    with closing(driver.connect(str(path), readonly=True)) as connection:
        for text in texts:
            asked = " OR ".join(f'"{each}"' for each in terms(text))
            began = time.perf_counter()
            connection.execute(RAW, (asked,)).fetchall()
            taken.append(time.perf_counter() - began)
    return taken


def _fill(path: Path, count: int) -> None:
    migrate.upgrade(sqlite_url(path))
    words, categories = Words(1), list(Category)[5:]
    rows = (
        (
            f"svc{words.chance.randrange(SERVICES)}" if number % 3 == 0 else None,
            categories[number % len(categories)].value,
            " ".join(words.some(words.chance.randint(8, 18))),
            0.7,
            *(f"{NOW - timedelta(minutes=count - number):%Y-%m-%dT%H:%M:%S.%fZ}",) * 2,
            " ".join(words.some(4)) if number % 2 else "",
            "[]",
            f"project {number % PROJECTS}",
            1 + number // 20 if number % 2 else None,
            "semantic",
            "client",
        )
        for number in range(count)
    )
    with closing(driver.connect(str(path))) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO sessions (id, started_at) VALUES (?, '2026-01-01T00:00:00.000000Z')",
            ((number + 1,) for number in range(1 + count // 20)),
        )
        marks = ", ".join("?" * len(COLUMNS.split(",")))
        connection.executemany(f"INSERT INTO memories ({COLUMNS}) VALUES ({marks})", rows)
        connection.execute("COMMIT")
