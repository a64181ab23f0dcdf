"""Kills of a notebook run between two of its steps, or an editor's save at that point.

Runs as a separate program without threads: each attempt is a fork that is killed at one traced line
of the notebook's code. After the next run there must be no torn page, no lost edit and no
duplicate.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, MemoryId
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.formats.notebook import parse
from lamplighter.notebook.tree import NotebookTree, write_new
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.notebook import reviews
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync
from postgres_server import PostgresServer

SQLITE, POSTGRES = "sqlite", "postgres"
ADDRESS, TEMPLATE, COPY = "address", "template", "copy"
NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
LINES_OF_A_WRITE: Final = 9
TRACED: Final = ("/usecases/notebook/", "/lamplighter/notebook/", "/repository/notebook/")
EXPECTED: Final = {
    "jellyfin: Takes 70s to start",
    "jellyfin: Needs the NAS",
    "jellyfin: Learned meanwhile",
    "jellyfin: Written by hand",
    "nas: Spins up in 12 s",
    "nas: Written by hand too",
    "blog: A whole new file",
}


def run_kills(kills: int, seed: int, directory: str, database: str = SQLITE) -> str:
    """Kill this number of runs, and return the output of the program."""
    done = subprocess.run(
        [sys.executable, __file__, directory, str(kills), str(seed), database],
        capture_output=True,
        text=True,
        timeout=3_600,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass(frozen=True)
class Homes:
    """Copies of one home and its database; `server` is None for SQLite."""

    directory: Path
    server: PostgresServer | None

    def create(self) -> Path:
        """Return the home that serves as the template of the copies."""
        home = self.directory / TEMPLATE
        home.mkdir()
        if self.server:
            (home / ADDRESS).write_text(self.server.create(TEMPLATE))
        migrate.upgrade(_address(home))
        return home

    def copy(self) -> Path:
        """Return a copy of the home."""
        home = self.directory / COPY
        shutil.copytree(self.directory / TEMPLATE, home)
        if self.server:
            (home / ADDRESS).write_text(self.server.create(COPY, TEMPLATE))
        return home

    def remove(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.directory / COPY)
        if self.server:
            self.server.drop(COPY)


def main(directory: Path, kills: int, seed: int, database: str) -> None:
    """Kill this number of runs, and let an editor save during as many others."""
    server = PostgresServer() if database == POSTGRES else None
    try:
        _disturb(Homes(directory, server), kills, seed)
    finally:
        if server:
            server.remove()


def _disturb(homes: Homes, kills: int, seed: int) -> None:
    asyncio.run(_used(homes.create(), _prepare))
    steps, of_files = _count(homes)
    chance = random.Random(seed)
    for number in range(kills):
        at = chance.choice(of_files) if number % 2 else chance.randrange(steps) + 1
        _attempt(homes, at, _kill, EXPECTED, f"kill {number} at {at} of {steps}")
        at = chance.randrange(steps) + 1
        expected = EXPECTED | {"nas: Saved by an editor"}
        save = _save_in_place if number % 2 else _save_by_rename
        _attempt(homes, at, save, expected, f"{save.__name__} {number} at {at} of {steps}")
    print(f"{kills} kills and {kills} saves at {steps} steps")  # noqa: T201  # its result


def _address(home: Path) -> str:
    """Return the address of the database of a home."""
    given = home / ADDRESS
    return given.read_text() if given.exists() else sqlite_url(home / "lamplighter.db")


async def _used(home: Path, work: Callable[[NotebookContext], Any]) -> Any:
    db = Database(_address(home))
    await db.connect()
    try:
        here = NotebookContext(db=db, now=lambda: NOW, redact=Redactor(), tree=NotebookTree(home))
        return await work(here)
    finally:
        await db.disconnect()


async def _learn(here: NotebookContext, service: str, text: str) -> Memory:
    candidate = Candidate(
        category=Category.TIMING, service=service, observation=text, tier=0, session_id=None
    )
    return await curate.create(here, candidate)


async def _prepare(here: NotebookContext) -> None:
    first = await _learn(here, "jellyfin", "Takes 60s to start")
    await _learn(here, "jellyfin", "Needs the NAS")
    await _learn(here, "nas", "Spins up in 9 s")
    gone = await _learn(here, "jellyfin", "Removed by hand")
    await sync(here)
    await curate.edit(here, first.id, Edit(observation="Takes 70s to start"), version=None)
    await _learn(here, "jellyfin", "Learned meanwhile")
    root = here.tree.root
    page = root / "services/jellyfin.md"
    text = page.read_text().replace(f"- [timing] Removed by hand ^m{gone.id}\n", "")
    page.write_text(f"{text}- [timing] Written by hand\n")
    page = root / "services/nas.md"
    page.write_text(page.read_text().replace("9 s", "12 s") + "- [timing] Written by hand too\n")
    (root / "projects").mkdir()
    (root / "projects/blog.md").write_text("# Blog\n\n- A whole new file\n")


def _count(homes: Homes) -> tuple[int, list[int]]:
    """Return the number of lines of a complete run, and which of them write the last file."""
    home = homes.copy()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        of_files: list[int] = []
        counted = _traced(
            lambda number, name: of_files.append(number) if name == write_new.__name__ else None
        )
        asyncio.run(_used(home, sync))
        os.write(writer, json.dumps([counted[0], of_files[-LINES_OF_A_WRITE:]]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    homes.remove()
    steps, of_files = json.loads(os.read(reader, 1_000))
    return steps, of_files


def _traced(act: Callable[[int, str], None]) -> list[int]:
    """Call `act` with the number and the function of each executed line of the notebook's code."""
    count = [0]

    def line(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            count[0] += 1
            act(count[0], frame.f_code.co_name)
        return line

    def call(frame: FrameType, event: str, argument: object) -> Any:
        return line if any(each in frame.f_code.co_filename for each in TRACED) else None

    sys.settrace(call)
    threading.settrace(call)
    return count


def _attempt(
    homes: Homes,
    at: int,
    disturb: Callable[[Path], None],
    expected: set[str],
    name: str,
) -> None:
    home = homes.copy()
    child = os.fork()
    if not child:
        done = _traced(lambda number, _: disturb(home) if number == at else None)
        asyncio.run(_used(home, sync))
        if done[0] < at:  # the number of lines depends on the threads' order
            disturb(home)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, f"{name}: status {status}"
    child = os.fork()
    if not child:
        try:
            asyncio.run(_used(home, lambda here: _check(here, expected)))
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
    homes.remove()


def _kill(home: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _save_by_rename(home: Path) -> None:
    page = home / "notebook/services/nas.md"
    aside = page.with_name("nas.md~")
    aside.write_text(page.read_text() + "- [timing] Saved by an editor\n")
    aside.rename(page)


def _save_in_place(home: Path) -> None:
    with (home / "notebook/services/nas.md").open("a") as page:
        page.write("- [timing] Saved by an editor\n")


async def _check(here: NotebookContext, expected: set[str]) -> None:
    """Complete the run; memories and files then contain the same entries, each exactly once."""
    await sync(here)
    await sync(here)
    last = await sync(here)
    assert (last.edits, last.written, last.removed, last.for_review) == (0, [], [], {}), last
    async with reading(here.db):
        found = await memories.by_ids(here.db, [MemoryId(each) for each in range(1, 40)])
        assert await reviews.open_review(here.db) is None
    active = [each for each in found.values() if each.active]
    texts = [f"{each.service or each.project}: {each.observation}" for each in active]
    assert sorted(texts) == sorted(expected), texts
    files = [each for each in here.tree.root.rglob("*") if each.is_file()]
    assert all(each.suffix == ".md" for each in files), files
    pages = [each for each in files if each.stem != "MEMORY"]
    lines = [(line.number, line.text) for each in pages for line in parse(each.read_text()).lines]
    assert sorted(lines, key=str) == sorted([(m.id, m.observation) for m in active], key=str)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
