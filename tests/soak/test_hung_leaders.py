"""The long form of tests/supervisor/test_hung_leader.py: many hangs, and no false ones."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median

import pytest
from homes import NO_SERVICES, Home

import direct_writes
from lamplighter.repository.store.postgres import LOCK_NAMESPACE, WRITER

HANGS = 20
PROMISED_SECONDS = 20
WRITING_SECONDS = 120
BUSY_SECONDS = 180
HOLDS_WRITER = (
    "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
    f" AND classid = {LOCK_NAMESPACE} AND objid = {WRITER}"
)
LOOPS_PER_CORE = 3


@pytest.fixture
def home(tmp_path: Path, postgres_url: str) -> Iterator[Home]:
    """Return a home with its rows in PostgreSQL."""
    path = tmp_path / "home"
    path.mkdir()
    (path / "services.yaml").write_text(NO_SERVICES)
    env = {"PATH": "/usr/bin:/bin", "LAMPLIGHTER_HOME": str(path), "LAMPLIGHTER_VECTORS": "off"}
    there = Home(path, {**env, "LAMPLIGHTER_DATABASE_URL": postgres_url})
    there.engine("numbered", "100000", "0.5")
    yield there
    for process in there.started:
        process.kill()
        process.wait()


def lease(home: Home) -> tuple[int, int]:
    """Return the epoch and process id of the leader; zeros if there is none."""
    found = direct_writes.run(home.env["LAMPLIGHTER_DATABASE_URL"], "SELECT epoch, pid FROM leases")
    return found[0] if found else (0, 0)


@contextmanager
def busy() -> Iterator[None]:
    """Keep every core busy with several loops."""
    count = LOOPS_PER_CORE * (os.cpu_count() or 1)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def stop(home: Home, pid: int, *, writing: bool) -> None:
    """Suspend the leader, with `writing` at a moment when it holds the write lock."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + WRITING_SECONDS
    while writing and not direct_writes.run(home.env["LAMPLIGHTER_DATABASE_URL"], HOLDS_WRITER):
        os.kill(pid, signal.SIGCONT)
        assert time.monotonic() < deadline, "it writes at no moment"
        time.sleep(random.Random(time.monotonic_ns()).uniform(0, 0.02))
        os.kill(pid, signal.SIGSTOP)


@pytest.mark.parametrize("load", [False, True], ids=["alone", "beside busy loops"])
def test_each_of_many_hung_leaders_is_replaced(home: Home, *, load: bool) -> None:
    processes = {each.pid: each for each in (home.start("supervisor"), home.start("supervisor"))}
    home.until(lambda: lease(home)[0])
    took: dict[bool, list[float]] = {True: [], False: []}
    with busy() if load else nullcontext():
        for number in range(HANGS):
            writing = number % 2 == 0
            epoch, pid = lease(home)
            stop(home, pid, writing=writing)
            began = time.monotonic()
            home.until(lambda epoch=epoch: lease(home)[0] == epoch + 1, PROMISED_SECONDS)
            took[writing].append(time.monotonic() - began)
            os.kill(pid, signal.SIGCONT)
            ended = f"SELECT 1 FROM sessions WHERE leader_epoch = {epoch} AND status = 'running'"
            url = home.env["LAMPLIGHTER_DATABASE_URL"]
            home.until(lambda ended=ended, url=url: not direct_writes.run(url, ended))
            assert processes[pid].poll() is None
    for writing, seconds in took.items():
        when = "during a write" if writing else "at any moment"
        spread = f"{min(seconds):.1f}, {median(seconds):.1f}, {max(seconds):.1f} s"
        sys.stdout.write(f"hung {when}: replaced after {spread} (min, median, max)\n")


def test_a_busy_leader_is_never_replaced(home: Home) -> None:
    home.start("supervisor")
    home.until(lambda: lease(home)[0])
    home.start("supervisor")
    before = lease(home)

    with busy():
        until = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < until:
            assert lease(home) == before
            time.sleep(1)
