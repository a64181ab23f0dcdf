"""Backups and restores, killed at random moments: the result is complete or absent."""

import json
import random
import signal
import time
from pathlib import Path

from homes import Home

import direct_writes
from lamplighter.serve.backup import manifest

ROWS = (
    "SELECT id, status, uid, log_offset FROM sessions ORDER BY id",
    "SELECT id, observation, confidence FROM memories ORDER BY id",
    "SELECT id, session_id, text FROM markers ORDER BY id",
)
State = tuple[object, ...]


def state(home: Home, url: str) -> State:
    """Migrate a home, and return its state: its database and its files."""
    done = home.run("migrate")
    assert done.returncode == 0, done.stderr
    outputs = {path.name: path.read_bytes() for path in (home.path / "sessions").glob("*.jsonl")}
    services = (home.path / "services.yaml").read_text()
    return (*(direct_writes.run(url, query) for query in ROWS), outputs, services)


def killed(home: Home, chance: random.Random, seconds: float, *words: str) -> None:
    """Start a command and kill it at a random moment before its expected end."""
    process = home.start(*words)
    time.sleep(chance.uniform(0, seconds))
    process.send_signal(signal.SIGKILL)
    process.wait()


def kill_backups(home: Home, chance: random.Random, kills: int) -> None:
    """Kill backups: every one that looks complete is complete, and the next one succeeds."""
    seconds = took(home, "backup")
    for _ in range(kills):
        killed(home, chance, seconds, "backup", "--keep", "3")
        for path in (home.path / "backups").glob("lamplighter-*"):
            manifest.check(path, manifest.read(path))
    done = home.run("backup", "--keep", "1")
    assert done.returncode == 0, done.stderr
    left = [path.name for path in (home.path / "backups").iterdir() if path.is_dir()]
    assert len(left) == 1, left


def kill_restores(home: Home, url: str, old: Path, new: Path, kills: int, seed: int) -> int:
    """Kill restores of `new` over `old`: each leaves one of the two; return the count of `new`."""
    chance, came = random.Random(seed), 0
    states = []
    for path in (new, old):
        seconds = took(home, "restore", str(path), "--replace")
        states.append(state(home, url))
    for _ in range(kills):
        killed(home, chance, seconds, "restore", str(new), "--replace")
        found = state(home, url)
        assert found in states, "a mix of both"
        if found == states[0]:
            came += 1
            done = home.run("restore", str(old), "--replace")
            assert done.returncode == 0, done.stderr
    return came


def took(home: Home, *words: str) -> float:
    """Run a command to its end, and return its duration in seconds."""
    began = time.monotonic()
    done = home.run(*words)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


def two_backups(home: Home, directory: Path) -> tuple[Path, Path]:
    """Make two backups of different states of a home."""
    made = []
    for number in range(2):
        (home.path / "services.yaml").write_text(f"services: {{}}\n# version {number}\n")
        assert home.run("run").returncode == 0
        done = home.run("backup", str(directory), "--json")
        assert done.returncode == 0, done.stderr
        made.append(Path(json.loads(done.stdout)["path"]))
    return made[0], made[1]
