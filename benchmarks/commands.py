"""The start time of read-only commands, compared with `python -c pass`. Limit: 150 ms.

Each command is a new Python process, run in turn with the bare one. `cpu_ms` is the processor time,
which a busy machine changes least. `modules` counts our modules.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from app import App  # of e2e/
from benchmarks.measure import sized

ROUNDS: Final = sized(9, short=2)
LIMIT_MS: Final = 150
MAX_MODULES: Final = 60
BARE: Final = (sys.executable, "-c", "pass")
PROGRAM: Final = """
import os, sys
from lamplighter.__main__ import main

sys.argv[0] = "lamplighter"
try:
    main()
finally:
    ours = [each for each in sys.modules if each.partition(".")[0] == "lamplighter"]
    os.write(2, f"\\n{len(ours)}".encode())
"""
READS: Final = (
    "settings",
    "memory list",
    "memory trash",
    "memory history 1",
    "memory why 1",
    "reviews",
    "approvals",
    "search start",
    "context",
    "audit jellyfin",
    "token list",
    "vectors status",
)


def run() -> dict[str, Any]:
    """Run each command in turn with a bare Python."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        app = App(Path(directory) / "home").start("web")
        try:
            body = {"category": "timing", "service": "jellyfin", "observation": "Slow to start"}
            app.post("/api/v1/memories", body)
            found = {command: _measured(command, {**os.environ, **app.env}) for command in READS}
        finally:
            app.stop()
    worst = max(found.values(), key=lambda each: each["p50_ms"])
    return {
        "commands": found,
        "limit_ms": LIMIT_MS,
        "max_modules": MAX_MODULES,
        "held": worst["p50_ms"] <= LIMIT_MS
        and all(each["modules"] <= MAX_MODULES for each in found.values()),
    }


def _measured(command: str, env: dict[str, str]) -> dict[str, Any]:
    argv = (sys.executable, "-m", "lamplighter", *command.split())
    pairs = [(_taken(BARE, env), _taken(argv, env)) for _ in range(ROUNDS)]
    bare, ours = median(each[0][0] for each in pairs), median(each[1][0] for each in pairs)
    return {
        "p50_ms": round(1_000 * ours, 1),
        "bare_ms": round(1_000 * bare, 1),
        "times_bare": round(ours / bare, 1),
        "cpu_ms": round(1_000 * min(each[1][1] for each in pairs), 1),
        "modules": _modules(command, env),
    }


def _taken(argv: Sequence[str], env: dict[str, str]) -> tuple[float, float]:
    """Return the wall-clock seconds and the processor seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _modules(command: str, env: dict[str, str]) -> int:
    argv = (sys.executable, "-c", PROGRAM, *command.split())
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return int(done.stderr.rpartition("\n")[2])
