"""kill -9 of `lamplighter apply` before and after its commit: the next apply is correct."""

import subprocess
import sys
from pathlib import Path

import pytest

import direct_writes
from living import Home, lately

KILLING = """
import os, signal, sys
from lamplighter.cli import main
from lamplighter.notebook.directory import MemoryDirectory

left, write = [int(sys.argv.pop(1))], MemoryDirectory.write_base


def kill_or_write(*given):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    write(*given)


MemoryDirectory.write_base = kill_or_write
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
    killed = subprocess.run(
        [sys.executable, "-c", KILLING, str(at), "apply", str(tree)],
        env=home.env | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
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
