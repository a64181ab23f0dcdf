"""The cost of 300 sessions in the two processes: memory, threads, file descriptors."""

import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psutil

from app import PROCESSES, App  # of e2e/
from benchmarks.measure import sized

SESSIONS: Final = sized(300, short=6)
FIRST: Final = sized(50, short=3)
"""The sessions after which everything is loaded that loads at first use."""

LOOKS: Final = sized(100, short=10)
GROWTH: Final = 1.10
SERVICES: Final = """
services:
  well:
    checks: [{http: "http://127.0.0.1:PORT/readyz"}]
  ill:
    checks: [{tcp: "127.0.0.1:9", retries: 0}]
    actions: [{restart: ["false"]}]
"""


def run() -> dict[str, Any]:
    """Run rounds of a healthy and a failing service, and measure both processes."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        home = Path(directory) / "home"
        home.mkdir()
        (home / "services.yaml").write_text("services: {}\n")
        env = {"LAMPLIGHTER_ENGINE": "probe", "LAMPLIGHTER_INTERVAL": "100ms"}
        app = App(home, env).start("web")
        (home / "services.yaml").write_text(SERVICES.replace("PORT", str(app.port)))
        app.start("supervisor")
        try:
            samples = {count: _sample(app, count) for count in (FIRST, SESSIONS)}
        finally:
            app.stop()
    first, last = samples[FIRST], samples[SESSIONS]
    growth = {
        name: round(last[name]["rss_mb"] / first[name]["rss_mb"], 3)
        for name in ("web", "supervisor")
    }
    steady = all(
        last[name][what] <= first[name][what]
        for name in growth
        for what in ("threads", "descriptors", "children")
    )
    return {
        **{f"after_{count}": found for count, found in samples.items()},
        "growth": growth,
        "held": steady and all(each <= GROWTH for each in growth.values()),
    }


def _sample(app: App, count: int) -> dict[str, dict[str, float]]:
    """Wait for this number of sessions to end, and for the running one, then measure."""
    while app.get("/api/v1/sessions?limit=1")["items"][:1] == [] or _newest(app) < count:
        time.sleep(0.2)
    return {name: _look(app, name) for name in PROCESSES}


def _newest(app: App) -> int:
    return int(app.get("/api/v1/sessions?limit=1")["items"][0]["id"])


def _look(app: App, name: str) -> dict[str, float]:
    """Measure many times and return the minimum: a running session increases every figure."""
    process = psutil.Process(app.running[name].pid)
    looks = []
    for _ in range(LOOKS):
        looks.append(
            {
                "rss_mb": round(process.memory_info().rss / 2**20, 1),
                "threads": process.num_threads(),
                "descriptors": process.num_fds(),
                "children": len(process.children()),
            }
        )
        time.sleep(0.02)
    return {what: min(look[what] for look in looks) for what in looks[0]}
