"""The notebook of 10,000 memories, and the health and an audit of 100,000, on both databases.

The baseline of each is the raw query or the raw writes of the same data, in the same run.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from benchmarks.measure import sized, spread
from lamplighter.domain.health.figures import MeasurementTrigger
from lamplighter.domain.memory.memory import Edit, MemoryId
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database, writing
from lamplighter.repository.search import index
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.store.tables import memories
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.health.measure import measure
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync
from postgres_server import PostgresServer

PAGES: Final = 100
RENDERED: Final = sized(10_000, short=500)
MANY: Final = sized(100_000, short=2_000)
EDITS: Final = sized(30, short=4)
RENDER_SECONDS: Final = 2.0
LINE_MS: Final = 50.0
HEALTH_MS: Final = 1_000.0
AUDIT_MS: Final = 400.0
LINE_RATIO: Final = 20.0
HEALTH_RATIO = AUDIT_RATIO = 40.0
"""Limits: in time, or as a multiple of the raw change or the plain query of the same run."""

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
BATCH: Final = 1_000
ROUNDS: Final = 5
AUDITED: Final = 200


def run() -> dict[str, Any]:
    """Measure both databases."""
    found: dict[str, Any] = {}
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
            for name in ("sqlite", "postgres"):
                for size, work in ((RENDERED, _notebook), (MANY, _store)):
                    home = Path(directory) / f"{name}{size}"
                    home.mkdir()
                    url = sqlite_url(home / "lamplighter.db")
                    url = url if name == "sqlite" else server.create(f"notebook{size}")
                    migrate.upgrade(url)
                    found[f"{name}_{size}"] = asyncio.run(_opened(url, home, size, work))
    finally:
        server.remove()
    return {**found, "held": all(each.get("held", True) for each in found.values())}


async def _opened(
    url: str, home: Path, size: int, work: Callable[[NotebookContext], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    async with Database(url) as db:
        await _fill(db, size)
        here = NotebookContext(db=db, now=lambda: NOW, redact=Redactor(), tree=NotebookTree(home))
        return await work(here)


async def _fill(db: Database, size: int) -> None:
    """Store memories of 100 services in bulk; the index and the notebook follow."""
    chance = random.Random(1)
    rows = [
        {
            "service": f"svc{number % PAGES}",
            "category": "timing",
            "observation": f"Fact {number}: takes {chance.randint(1, 900)} s after a restart",
            "confidence": 0.7,
            "created_at": NOW,
            "updated_at": NOW,
            "content_hash": str(number),
        }
        for number in range(size)
    ]
    columns = [sa.column(name, memories.c[name].type) for name in rows[0]]
    insert = sa.insert(sa.table("memories", *columns))
    for at in range(0, size, BATCH):
        async with writing(db):
            await db.execute(insert.values(rows[at : at + BATCH]))
    while await index.catch_up(db, seconds=60):
        pass


async def _notebook(here: NotebookContext) -> dict[str, Any]:
    """Render all pages, then change one line at a time: in the database, and in a file."""
    began, spent = time.perf_counter(), time.process_time()
    await sync(here)
    rendered, spent = time.perf_counter() - began, time.process_time() - spent
    texts = {path: each.text for path, each in here.tree.scan().items()}
    other = NotebookTree(here.tree.root.parent / "raw")
    other.root.parent.mkdir()
    began = time.perf_counter()
    for path, text in texts.items():
        other.write(path, text, "")
    raw = time.perf_counter() - began
    of_memory = [await _timed(partial(_change_memory, here, n)) for n in range(EDITS)]
    of_file = [await _timed(partial(_change_file, here, n)) for n in range(EDITS)]
    of_raw = [await _timed(partial(_change_raw, here, n)) for n in range(EDITS)]
    memory, file, plain = spread(of_memory), spread(of_file), spread(of_raw)
    slowest = max(memory["p95_ms"], file["p95_ms"])
    ratio = round(slowest / plain["p95_ms"], 1)
    return {
        "pages": len(texts),
        "render_s": round(rendered, 2),
        "render_cpu_s": round(spent, 2),
        "raw_writes_s": round(raw, 2),
        "ratio": round(rendered / raw, 1),
        "change_of_a_memory": memory,
        "change_of_a_line": file,
        "change_raw": plain,
        "change_ratio": ratio,
        "held": rendered <= RENDER_SECONDS and (slowest <= LINE_MS or ratio <= LINE_RATIO),
    }


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _change_memory(here: NotebookContext, number: int) -> None:
    edit = Edit(observation=f"Now takes {number} s after a restart of the host")
    await curate.edit(here, MemoryId(number + 1), edit, version=None)
    assert f"services/svc{number % PAGES}" in (await sync(here)).written


async def _change_file(here: NotebookContext, number: int) -> None:
    page = here.tree.root / f"services/svc{number % PAGES}.md"
    text = await asyncio.to_thread(page.read_text)
    changed = text.replace(" after a restart ^m", f" after restart {number} ^m", 1)
    await asyncio.to_thread(page.write_text, changed)
    assert (await sync(here)).edits == 1


async def _change_raw(here: NotebookContext, number: int) -> None:
    """Update one row, and write a file of all rows of its service; store nothing else."""
    service = f"svc{number % PAGES}"
    values = {"observation": f"Takes {number} s", "updated_at": NOW}
    async with writing(here.db):
        await here.db.execute(
            sa.update(memories).where(memories.c.id == number + 1).values(**values)
        )
    query = sa.select(memories).where(memories.c.service == service).order_by(memories.c.id)
    text = "".join(f"- {row['observation']}\n" for row in await here.db.fetch_all(query))
    await asyncio.to_thread((here.tree.root.parent / "raw.md").write_text, text)


async def _store(here: NotebookContext) -> dict[str, Any]:
    """Measure the health without a comparison, and audit one service of 100."""
    db = here.db
    every = sa.select(sa.func.count()).where(memories.c.active == 1, memories.c.confidence > 0.1)
    newest = sa.select(memories).where(memories.c.service == "svc7").order_by(memories.c.id)
    works: dict[str, Callable[[], Awaitable[object]]] = {
        "health": lambda: measure(here, trigger=MeasurementTrigger.OPERATOR),
        "health_raw": lambda: db.fetch_val(every),
        "audit": lambda: page_on_topic(db, "svc7", services=(), limit=AUDITED),
        "audit_raw": lambda: db.fetch_all(newest.limit(AUDITED)),
    }
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            taken[name].append(await _timed(work))
    found = {name: spread(each) for name, each in taken.items()}
    ratios = {
        f"{name}_ratio": round(found[name]["p50_ms"] / found[f"{name}_raw"]["p50_ms"], 1)
        for name in ("health", "audit")
    }
    held = {
        name: found[name]["p50_ms"] <= limit or ratios[f"{name}_ratio"] <= times
        for name, limit, times in (
            ("health", HEALTH_MS, HEALTH_RATIO),
            ("audit", AUDIT_MS, AUDIT_RATIO),
        )
    }
    return {**found, **ratios, "held": all(held.values())}
