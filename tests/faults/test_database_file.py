"""The database file is removed, changed or damaged: both processes report, refuse and recover."""

import hashlib
import os
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest
from homes import Home
from staged import client, remembered, serving

from lamplighter.repository.store import driver

PAGE, KEPT = 4_096, 20
LARGE = 300 * 2**20
RESTS = ("", "-wal", "-shm", ".migrate.lock", ".supervisor.lock")


@contextmanager
def used(home: Home) -> Iterator[tuple[httpx2.Client, subprocess.Popen[bytes]]]:
    """Yield a client of a home with both processes running and some memories stored."""
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    with serving(home) as server, client(server) as asking:
        supervisor = home.start("supervisor")
        home.until(lambda: home.value("SELECT status FROM sessions") == "completed", 60)
        for number in range(KEPT):
            assert remembered(asking, f"Kept {number} {'x' * 4_000}").status_code == 201
        yield asking, supervisor


def noticed(home: Home, asking: httpx2.Client, words: str) -> None:
    """Wait until both processes detect the fault, and check the responses of the web process."""
    home.until(lambda: asking.get("/readyz").status_code == 503, 60)
    home.until(lambda: words in (home.path / "log").read_text(), 60)
    home.until(lambda: words in (home.path / "web.log").read_text(), 60)
    refused = remembered(asking, "Lost")
    assert refused.status_code == 503
    assert refused.headers["retry-after"].isdecimal()
    assert words in refused.json()["detail"]
    assert words in asking.get("/readyz").json()["detail"]
    answer = asking.get("/api/v1/health")
    if answer.status_code == 503:  # not even who asks can be read
        assert words in answer.json()["detail"]
        return
    health = answer.json()
    failing = [each for each in health["checks"] if each["name"] == "database"]
    assert health["state"] == "failing"
    assert [words in each["words"] for each in failing] == [True]
    assert failing[0]["what_to_do"].startswith("Writes are stopped.")


def calm(home: Home, supervisor: subprocess.Popen[bytes]) -> None:
    """Assert that the supervisor runs and that neither process logged a traceback."""
    assert supervisor.poll() is None
    assert "Traceback" not in (home.path / "log").read_text()
    assert "Traceback" not in (home.path / "web.log").read_text()


def enlarge(home: Home) -> None:
    """Create a database of several hundred MB: without a reason its pages are checked rarely."""
    assert home.run("migrate").returncode == 0
    with closing(driver.connect(str(home.path / "lamplighter.db"))) as connection:
        for setting in ("journal_mode=OFF", "synchronous=OFF", "cache_size=100"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("CREATE TABLE bulk (content BLOB)")
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO bulk SELECT zeroblob(3900) FROM n",
            (LARGE // PAGE,),
        )


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def observations(path: Path) -> int:
    with closing(driver.connect(str(path))) as connection:
        query = "SELECT count(*) FROM memories WHERE observation LIKE 'Kept%'"
        return int(connection.execute(query).fetchone()[0])


def test_a_deleted_database_is_detected_and_rescued_not_recreated(home: Home) -> None:
    path = home.path / "lamplighter.db"
    with used(home) as (asking, supervisor):
        for rest in RESTS:
            Path(f"{path}{rest}").unlink(missing_ok=True)
        noticed(home, asking, "was deleted or moved while it was in use")
        while_running = home.run("doctor")
        calm(home, supervisor)
        assert not path.exists()
    supervisor.kill()
    supervisor.wait()
    rescued = list(home.path.glob("rescued-*"))
    starts = [home.run("web"), home.run("supervisor"), home.run("migrate"), home.run("login")]
    after = home.run("doctor")

    assert [each.suffix for each in rescued] == [".db"]
    for done in starts:
        assert done.returncode == 2
        assert "is missing, but this home has been used before" in done.stderr
        assert str(rescued[0]) in done.stderr
    for done in (while_running, after):
        assert done.returncode == 1
        assert str(rescued[0]) in done.stdout
    assert not path.exists()
    rescued[0].rename(path)
    assert home.run("migrate").returncode == 0
    assert observations(path) == KEPT
    assert home.run("doctor").returncode == 0


def test_a_database_replaced_by_another_is_not_written(home: Home) -> None:
    path = home.path / "lamplighter.db"
    other = home.path / "other.db"
    with used(home) as (asking, supervisor):
        with closing(driver.connect(str(other), create=True)) as connection:
            connection.execute("CREATE TABLE mine (a)")
        before = other.read_bytes()
        other.rename(path)
        noticed(home, asking, "was replaced by another file while it was in use")
        calm(home, supervisor)
        assert path.read_bytes() == before
    rescued = list(home.path.glob("rescued-*.db"))
    assert len(rescued) == 1
    assert observations(rescued[0]) == KEPT


def test_a_restored_database_is_used_again(home: Home) -> None:
    path = home.path / "lamplighter.db"
    with used(home) as (asking, supervisor):
        path.rename(home.path / "away")
        noticed(home, asking, "was deleted or moved")
        (home.path / "away").rename(path)
        home.until(lambda: asking.get("/readyz").status_code == 200)
        assert remembered(asking, "Kept after all").status_code == 201
        calm(home, supervisor)


def cut(path: Path) -> None:
    os.truncate(path, 3 * PAGE)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(2 * PAGE)
        file.write(random.Random(5).randbytes(size - 2 * PAGE))


def flip(path: Path) -> None:
    """Change up to 200 bytes in the headers of pages."""
    chance, pages = random.Random(7), path.stat().st_size // PAGE
    with path.open("r+b") as file:
        for _ in range(200):
            file.seek(chance.randrange(1, pages) * PAGE + chance.randrange(0, 8))
            file.write(bytes([chance.randrange(256)]))


def garble(path: Path) -> None:
    """Change the schema to text that is no UTF-8, which SQLite quotes in its message."""
    row = re.compile(rb"(?s)(?<=table)m(emoriesmemories.{0,9})C(?=REATE)")
    garbled = row.sub(b"\x9e\\1\x9e", path.read_bytes())  # older copies of the row too
    with path.open("r+b") as file:
        file.write(garbled)


def overwrite_one(path: Path) -> None:
    """Overwrite a page out of many, which no statement of Lamplighter reads."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // PAGE // 2 * PAGE)
        file.write(b"\xff" * PAGE)


@pytest.mark.parametrize("harm", [cut, empty, overwrite, flip, garble, overwrite_one])
def test_a_damaged_database_is_detected_and_not_written(
    home: Home, harm: Callable[[Path], None]
) -> None:
    path = home.path / "lamplighter.db"
    if harm is overwrite_one:
        enlarge(home)
    with used(home) as (asking, supervisor):
        if harm is not overwrite_one:  # a checkpoint in the same second would hide the change
            with closing(driver.connect(str(path))) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        harm(path)
        noticed(home, asking, "is damaged")
        calm(home, supervisor)
        harmed = digest(path)
        assert remembered(asking, "Lost again").status_code == 503
        doctor = home.run("doctor")
        assert digest(path) == harmed
    assert doctor.returncode == 1
    assert ("Restore a backup" if harm is empty else ".recover") in doctor.stdout
    assert list(home.path.glob("rescued-*")) == []


def test_an_emptied_database_of_a_used_home_is_refused_at_the_start(home: Home) -> None:
    home.engine("lines", "[MEMORY:timing:jellyfin] Takes 60s to start")
    assert home.run("run").returncode == 0
    empty(home.path / "lamplighter.db")

    done = home.run("migrate")

    assert done.returncode == 2
    assert "is empty, but this home has been used before" in done.stderr
    assert (home.path / "lamplighter.db").stat().st_size == 0
