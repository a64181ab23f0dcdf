"""An import that ends half-way because of the database: its message, its act, and its undo."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import direct_writes
import nursery
from contexts import NOON
from lamplighter.repository import Database
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.memory import journal
from living import Home
from lost_answers import losing
from postgres_server import PostgresServer

ITEMS = 3_000
ROWS = [
    {"id": number, "type": "decision", "title": f"Item {number}", "content": f"Text {number}"}
    for number in range(ITEMS)
]
ADVICE = "Import the same items again to continue, or undo it: POST /api/v1/acts/1/undo."


@pytest.fixture
def mortal() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that this test may stop."""
    started = PostgresServer()
    yield started
    started.remove()


def stored(url: str) -> list[tuple[int]]:
    return direct_writes.run(url, "SELECT id FROM memories")


async def test_an_import_whose_first_items_are_not_confirmed_does_not_claim_to_have_failed(
    mortal: PostgresServer, tmp_path: Path
) -> None:
    direct, file = mortal.create("lamplighter"), tmp_path / "notes.md"
    file.write_text("Takes 60 s to start")
    home = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": direct})
    assert home.ask("migrate").returncode == 0
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with losing(direct, Path(there), lambda: True) as url:
            home.more["LAMPLIGHTER_DATABASE_URL"] = url
            done = await asyncio.to_thread(home.ask, "import", str(file))
    home.more["LAMPLIGHTER_DATABASE_URL"] = direct

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "lamplighter: The database is not available. Some items may be imported. "
        "Import the same items again to continue.\n"
    )
    assert home.ask("import", str(file)).stdout == "Imported 0 memories (1 unchanged).\n"


def test_an_import_that_waited_in_vain_for_the_database_names_all_that_it_stored(
    tmp_path: Path,
) -> None:
    home, file = Home(tmp_path / "home"), tmp_path / "export.json"
    file.write_text(json.dumps({"observations": ROWS}))
    with (home.path / "log").open("wb") as log:
        importing = nursery.start("import", str(file), env=home.env, stdout=log, stderr=log)
    url = sqlite_url(home.path / "lamplighter.db")
    while len(stored(url)) < 300:
        time.sleep(0.001)
    with closing(driver.connect(str(home.path / "lamplighter.db"), busy_seconds=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert importing.wait(60) == 1

    rows = len(stored(url))
    assert 300 <= rows < ITEMS
    begins = f"lamplighter: The database is not available. Imported {rows:,} memories. This is act"
    assert (home.path / "log").read_text().startswith(begins)
    assert home.ask("import", str(file)).returncode == 0
    assert len(stored(url)) == ITEMS


@pytest.mark.parametrize("committed", [True, False])
async def test_an_import_that_is_cut_names_its_act_and_can_be_undone_and_repeated(
    mortal: PostgresServer, tmp_path: Path, *, committed: bool
) -> None:
    direct, file = mortal.create("lamplighter"), tmp_path / "export.json"
    file.write_text(json.dumps({"observations": ROWS}))
    cut = False

    def loses() -> bool:
        nonlocal cut
        if cut or len(stored(direct)) < 300:
            return False
        cut = True
        if not committed:
            mortal.stop()
        return True

    home = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": direct})
    assert home.ask("migrate").returncode == 0
    with TemporaryDirectory(dir="/tmp") as there:  # a short path: it contains a socket
        async with losing(direct, Path(there), loses) as url:
            home.more["LAMPLIGHTER_DATABASE_URL"] = url
            done = await asyncio.to_thread(home.ask, "import", str(file))
    home.more["LAMPLIGHTER_DATABASE_URL"] = direct
    if not committed:
        mortal.start()

    imported = stored(direct)
    [(action, subject, changed)] = direct_writes.run(
        direct, "SELECT action, subject, changed FROM acts"
    )
    assert (action, subject, changed) == ("import", "export.json", len(imported))
    assert 300 <= len(imported) < ITEMS
    assert done.returncode == 1
    assert done.stderr.startswith("lamplighter: The database is not available. Imported ")
    assert done.stderr.endswith(f"{ADVICE}\n")
    confirmed = int(done.stderr.partition("Imported ")[2].partition(" ")[0].replace(",", ""))
    assert (confirmed < len(imported)) is committed
    assert "Further items may be imported." in done.stderr

    async with Database(direct) as db:
        undone = await journal.undo(db, 1, now=NOON)
    assert (undone.rows, stored(direct)) == (len(imported), [])
    again = home.ask("import", str(file))
    assert (again.returncode, len(stored(direct))) == (0, ITEMS), again.stderr
