"""`lamplighter apply` killed or stopped before or after its commit: the next apply is correct."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import direct_writes
from living import Home, lately

SIGNALED = """
import os, signal, sys
from lamplighter.cli import main
from lamplighter.notebook.directory import MemoryDirectory

number, left = signal.Signals[sys.argv.pop(1)], [int(sys.argv.pop(1))]
write = MemoryDirectory.write_base


def signal_and_write(*given):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), number)
    write(*given)


MemoryDirectory.write_base = signal_and_write
main()
"""
CREATED = lately()  # too recent for decay
FILE = """---
category: timing
service: jellyfin
confidence: 0.7
created: {}
---

{}
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FILE.format(CREATED, text))


def signaled(home: Home, name: str, at: int, tree: Path) -> subprocess.Popen[bytes]:
    """Apply a directory with a process that signals itself before it writes the base file."""
    return subprocess.Popen(
        [sys.executable, "-c", SIGNALED, name, str(at), "apply", str(tree)],
        env=home.env | {"PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("dialect", ["sqlite", "postgres_url"])
@pytest.mark.parametrize("at", [1, 2])
def test_apply_after_a_killed_apply_neither_doubles_a_memory_nor_reports_a_conflict(
    dialect: str, at: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(dialect))
    home, tree = Home(tmp_path / "home", {"LAMPLIGHTER_DATABASE_URL": url}), tmp_path / "memory"
    old, new = tree / "ops/jellyfin/old.md", tree / "ops/jellyfin/new.md"
    write(old, "Takes 60s to start")
    assert home.ask("apply", str(tree)).returncode == 0

    write(old, "Takes 70s to start")
    write(new, "Needs the NAS")
    assert signaled(home, "SIGKILL", at, tree).wait(60) == -9
    write(old, "Takes 80s to start")
    write(new, "Needs the NAS and the network")
    done = home.ask("apply", str(tree))

    assert done.returncode == 0, done.stdout
    committed = done.stdout.startswith("change  ops/jellyfin/new.md (observation)\n")
    assert committed is (at == 2)
    assert done.stdout.endswith("change  ops/jellyfin/old.md (observation)\nApplied 2 changes.\n")
    rows = direct_writes.run(url, "SELECT observation FROM memories ORDER BY id")
    assert rows == [("Takes 80s to start",), ("Needs the NAS and the network",)]
    assert home.ask("apply", str(tree)).stdout == "There was nothing to apply.\n"
    exported = home.ask("export", "--dir", str(tree))
    assert exported.returncode == 0, exported.stderr


def test_second_apply_of_a_directory_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    home, tree = Home(tmp_path / "home"), tmp_path / "memory"
    write(tree / "ops/jellyfin/first.md", "Takes 60s to start")
    first = signaled(home, "SIGSTOP", 2, tree)
    assert os.WIFSTOPPED(os.waitpid(first.pid, os.WUNTRACED)[1])

    write(tree / "ops/jellyfin/second.md", "Needs the NAS")
    refused = [home.ask("apply", str(tree)), home.ask("export", "--dir", str(tree))]
    planned = home.ask("plan", str(tree))
    first.send_signal(signal.SIGCONT)
    assert first.wait(60) == 0

    words = f"An apply or export of {tree} is running. Try again when it has finished."
    assert {(each.returncode, each.stderr) for each in refused} == {(2, f"lamplighter: {words}\n")}
    assert planned.stdout.startswith("add     ops/jellyfin/second.md\n")
    assert home.ask("apply", str(tree)).stdout.endswith("Applied 1 change.\n")
    assert home.ask("apply", str(tree)).stdout == "There was nothing to apply.\n"
    assert home.rows("SELECT count(*) FROM memories") == [(2,)]
