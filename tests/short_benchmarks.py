"""Benchmarks in their short form: they show that each still measures everything it names."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.__main__ import ALL

IN_A_BROWSER: Final = frozenset({"latency", "live", "pages"})
"""Those that the browser tests run, for which a browser is installed."""

ELSEWHERE: Final = frozenset({"two_sessions"})
"""tests/plugin runs its short form with the CLI that the tests of the plugin need."""

WITHOUT_A_BROWSER: Final = sorted(ALL.keys() - IN_A_BROWSER - ELSEWHERE)


def assert_complete(name: str) -> None:
    """Run a benchmark once as a user would, and fail if data is missing."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name],
        env={**os.environ, "SHORT": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["benchmark"] == name
    assert list(empty_figures(report)) == []


def empty_figures(report: Any, path: str = "") -> Iterator[str]:
    """Return where a report has no figure: null, not a number, or a measure without samples."""
    if isinstance(report, dict):
        for name, value in report.items():
            yield from empty_figures(value, f"{path}/{name}")
        if report.get("n") == 0:
            yield f"{path}/n"
    elif isinstance(report, list):
        for at, value in enumerate(report):
            yield from empty_figures(value, f"{path}/{at}")
    elif report is None or (isinstance(report, float) and not math.isfinite(report)):
        yield path
