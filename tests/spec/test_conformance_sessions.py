"""Conformance, sessions and interfaces: over the API and through sessions that live and die.

The ends of the names are the numbers of the cases.
"""

import os
import shlex
import signal
import sys
import time
from pathlib import Path

import httpx2

import nursery
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from living import Home

MEMORIES = "/api/v1/memories"


def test_unknown_memory_returns_404_89(client: httpx2.Client) -> None:
    assert client.patch(f"{MEMORIES}/999999", json={"confidence": 0.5}).status_code == 404


def test_session_of_a_killed_supervisor_ends_as_interrupted_99(home: Home, tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, time\n"
        "for n in range(2000):\n"
        "    words = f'[MEMORY:timing:svc{n}] Slow to start'\n"
        "    content = [{'type': 'text', 'text': words}]\n"
        "    line = {'type': 'assistant', 'message': {'content': content}}\n"
        "    print(json.dumps(line), flush=True)\n"
        "    time.sleep(0.02)\n"
    )
    env = {
        "LAMPLIGHTER_ENGINE": "exec",
        "LAMPLIGHTER_EXEC_COMMAND": shlex.join([sys.executable, str(engine)]),
    }
    migrate.upgrade(sqlite_url(home.path / "lamplighter.db"))
    with (home.path / "log").open("wb") as log:
        supervisor = nursery.start("supervisor", env=home.env | env, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while home.value("SELECT count(*) FROM memories") < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.kill(supervisor.pid, signal.SIGKILL)
        supervisor.wait(10)

    ran = home.says("x")

    assert (ran.id, ran.session["status"]) == (2, "completed")
    ((status, ended, offset, learned),) = home.rows(
        "SELECT status, ended_at IS NOT NULL, log_offset, learned FROM sessions WHERE id = 1"
    )
    assert (status, ended) == ("interrupted", 1)
    [output] = (home.path / "sessions").glob("1-*.jsonl")
    printed = output.read_bytes()
    assert offset == len(printed)
    services = [name for (name,) in home.rows("SELECT service FROM memories ORDER BY id")]
    assert services == [f"svc{number}" for number in range(printed.count(b"\n"))]
    assert learned == len(services)
