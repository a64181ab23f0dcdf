"""Floods of standard error: the next session does not wait, memory is bounded, all is masked."""

import os
import shlex
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from homes import NO_SERVICES, Home

import direct_writes
from lamplighter.repository.store.database import sqlite_url
from lamplighter.supervisor.run.limits import MAX_OUTPUT_BYTES
from living import KEPT, free_port

SIZES = {120: "", 300: "The session printed more than 128 MB."}
"""Megabytes, and the reason why a session with that much output fails."""
ALLOWED_RSS_GROWTH = 64 * 2**20
"""Bytes: only a few blocks of 1 MiB are in memory at once."""
SECRET = "hunter-2-hunter"
PRINTS = f"""
import json, pathlib, sys
wanted = pathlib.Path(sys.argv[1])
megabytes = int(wanted.read_text()) if wanted.exists() else 0
wanted.unlink(missing_ok=True)
line = "Nov 23 10:00:00 nas app[1]: GET /items/4711 HTTP/1.1 200 in 12 ms, 10.0.0.7, agent curl\\n"
block = line * 999 + "Nov 23 10:00:00 nas app[1]: DB_PASSWORD={SECRET}\\n"
for _ in range(megabytes * 1_000_000 // len(block) + 1 if megabytes else 0):
    sys.stderr.write(block)
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "Done"}}))
"""
REQUEST = "INSERT INTO requests (created_at) VALUES ('2026-01-01T00:00:00.000000Z')"
MOMENTS = "SELECT started_at, ended_at FROM sessions WHERE id = ?"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path, script = tmp_path / "home", tmp_path / "prints.py"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    script.write_text(PRINTS)
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"LAMPLIGHTER_HOME": str(path), "LAMPLIGHTER_INTERVAL": "1h"}
    env |= {"LAMPLIGHTER_PORT": str(free_port()), "LAMPLIGHTER_VECTORS": "off"}
    env["LAMPLIGHTER_ENGINE"] = "exec"
    env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join(
        [sys.executable, str(script), str(tmp_path / "megabytes")]
    )
    home = Home(path, env)
    yield home
    for process in home.started:
        process.kill()
        process.wait()


class Rss(threading.Thread):
    """The peak memory of a process, measured in a thread."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process, self._done, self.peak = psutil.Process(pid), threading.Event(), 0

    def run(self) -> None:
        """Measure twenty times a second."""
        while not self._done.wait(0.05):
            self.peak = max(self.peak, self._process.memory_info().rss)

    def end(self) -> None:
        """Stop measuring."""
        self._done.set()
        self.join()


def two_sessions(home: Home, first: int) -> float:
    """Request two sessions at once; return the seconds from the end of one to the next's start."""
    url = sqlite_url(home.path / "lamplighter.db")
    for _ in range(2):
        direct_writes.run(url, REQUEST)
    home.until(lambda: home.value(MOMENTS, first + 1), 600)
    ended, started = (home.rows(MOMENTS, first)[0][1], home.rows(MOMENTS, first + 1)[0][0])
    return (
        datetime.fromisoformat(str(started)) - datetime.fromisoformat(str(ended))
    ).total_seconds()


def is_completed(home: Home, session: int) -> bool:
    return home.value("SELECT status FROM sessions WHERE id = ?", session) == "completed"


@pytest.mark.parametrize(("megabytes", "reason"), SIZES.items())
def test_large_standard_error_delays_no_session_and_is_masked(
    home: Home, tmp_path: Path, megabytes: int, reason: str
) -> None:
    supervisor = home.start("supervisor")
    home.until(lambda: is_completed(home, 1))
    rss = Rss(supervisor.pid)
    rss.start()
    quiet = two_sessions(home, 2)
    home.until(lambda: is_completed(home, 3))
    before = rss.peak

    (tmp_path / "megabytes").write_text(str(megabytes))
    loud = two_sessions(home, 4)
    [errors] = home.outputs(4, ".err")
    still_masking = errors.with_suffix("").exists()
    home.until(lambda: is_completed(home, 5))
    home.until(lambda: not errors.with_suffix("").exists(), 600)
    rss.end()

    sys.stdout.write(
        f"\nto the next session: {quiet:.3f} s, after {megabytes} MB {loud:.3f} s;"
        f" RSS {before / 2**20:.0f} MB, at most {rss.peak / 2**20:.0f} MB\n"
    )
    assert home.value("SELECT reason FROM sessions WHERE id = 4") == reason
    assert still_masking, "the next session started while the output was masked"
    assert errors.stat().st_size >= min(megabytes * 1_000_000, MAX_OUTPUT_BYTES)
    assert SECRET.encode() not in errors.read_bytes()
    assert b"DB_PASSWORD=***" in errors.read_bytes()
    assert rss.peak - before < ALLOWED_RSS_GROWTH
