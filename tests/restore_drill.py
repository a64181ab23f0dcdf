"""The restore drill: a backup under write load, both processes killed, the home removed."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx2
from homes import Home

import direct_writes
import living
from lamplighter.repository.store import driver
from lamplighter.repository.store.database import sqlite_url

MARKERS = 100_000


def database(home: Home) -> str:
    return home.env.get("LAMPLIGHTER_DATABASE_URL") or sqlite_url(home.path / "lamplighter.db")


def backed_up(home: Home, *more: str) -> Path:
    done = home.run("backup", "--json", *more)
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["path"])


def tables(backup: Path) -> dict[str, list[object]]:
    """Return every row of every table of a backup."""
    path = backup / "database" / "lamplighter.db"
    if not path.exists():
        return {
            each.name: sorted(each.read_bytes().splitlines())
            for each in (backup / "database").iterdir()
        }
    with closing(driver.connect(str(path))) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = [str(name) for (name,) in connection.execute(query)]
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in names
        }


@contextmanager
def written(server: living.Server) -> Iterator[list[str]]:
    """Write events one after another until the server ends; yield those acknowledged up to then."""
    acknowledged: list[str] = []
    url, headers = f"{server.url}/api/v1/events", server.headers

    def write() -> None:
        with suppress(httpx2.HTTPError), httpx2.Client(headers=headers, timeout=60) as client:
            while True:
                text = f"Acknowledged {len(acknowledged)}"
                answer = client.post(url, json={"level": "info", "text": text})
                if answer.status_code == 201:
                    acknowledged.append(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield acknowledged
    finally:
        server.kill()
        writer.join(60)


def drill(first: Home, second: Home, kept: Path, seconds: float) -> int:
    """Lose a home during writes, and restore it elsewhere; return the number of restored rows.

    Every row of the backup is in the new home, and each acknowledged write from before it; the
    output of the session that was running is ingested once.
    """
    for each in (first, second):
        each.env["LAMPLIGHTER_MAX_MARKERS"] = str(MARKERS)  # a slow backup finds all printed
    first.engine("numbered", str(MARKERS), "0.05")
    url = {name: value for name, value in first.env.items() if name.endswith("DATABASE_URL")}
    server = living.Server(living.Home(first.path, url))
    with written(server) as acknowledged:
        supervisor = first.start("supervisor")
        query = "SELECT 1 FROM markers"
        first.until(lambda: direct_writes.run(database(first), query) and acknowledged)
        time.sleep(seconds)
        before = [*acknowledged]
        backup = backed_up(first, str(kept))
    supervisor.kill()
    supervisor.wait()
    first.until(lambda: not first.left_over())
    shutil.rmtree(first.path)

    done = second.run("restore", str(backup))

    assert done.returncode == 0, done.stderr
    saved, restored = tables(backup), tables(backed_up(second, str(kept)))
    assert restored == saved
    assert len(before) <= len(acknowledged)
    query = "SELECT text FROM events WHERE text LIKE 'Acknowledged%'"
    assert {*before} <= {text for (text,) in direct_writes.run(database(second), query)}
    second.engine("lines", "Nothing new")
    assert second.run("run").returncode == 0
    [output] = (backup / "sessions").glob("*.jsonl")
    printed = re.findall(r"\[MEMORY:[^\"]+", output.read_text().rpartition("\n")[0])
    query = "SELECT text FROM markers WHERE session_id = 1 ORDER BY id"
    texts = [text for (text,) in direct_writes.run(database(second), query)]
    assert texts == printed, "each once, in its order"
    return sum(map(len, saved.values()))
