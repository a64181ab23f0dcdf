"""The long form of tests/supervisor/test_hung_leader.py: many hangs, and none where none is."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from homes import NO_SERVICES, Home

import by_hand

HANGS = 20
BUSY_SECONDS = 180
LOOPS_PER_CORE = 3


@pytest.fixture
def home(tmp_path: Path, postgres_url: str) -> Iterator[Home]:
    """Return a home whose rows are in PostgreSQL."""
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
    """Return epoch and process of the leader; zeros while there is none."""
    found = by_hand.run(home.env["LAMPLIGHTER_DATABASE_URL"], "SELECT epoch, pid FROM leases")
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


def test_each_of_many_hung_leaders_is_replaced(home: Home) -> None:
    processes = {each.pid: each for each in (home.start("supervisor"), home.start("supervisor"))}
    home.until(lambda: lease(home)[0])
    took = []
    for _ in range(HANGS):
        epoch, pid = lease(home)
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        home.until(lambda epoch=epoch: lease(home)[0] == epoch + 1, 120)
        took.append(time.monotonic() - began)
        os.kill(pid, signal.SIGCONT)
        ended = f"SELECT 1 FROM sessions WHERE leader_epoch = {epoch} AND status = 'running'"
        home.until(lambda ended=ended: not by_hand.run(home.env["LAMPLIGHTER_DATABASE_URL"], ended))
        assert processes[pid].poll() is None
    sys.stdout.write(f"replaced after {min(took):.1f} to {max(took):.1f} s\n")


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
