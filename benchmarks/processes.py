"""What the two processes cost: start, memory, and a CPU that idles."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psutil

from app import App  # of e2e/

IDLE_SECONDS: Final = 15.0


def run() -> dict[str, Any]:
    """Start both, let them idle, and look at them."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        app = App(Path(directory) / "home").start()
        app.stop()
        began = time.perf_counter()
        app.start()
        ready = time.perf_counter() - began
        try:
            app.says(json.dumps("idle"))
            app.ends()
            time.sleep(2)
            both = [psutil.Process(process.pid) for process in app.running.values()]
            before = sum(sum(each.cpu_times()[:2]) for each in both)
            time.sleep(IDLE_SECONDS)
            used = sum(sum(each.cpu_times()[:2]) for each in both) - before
            rss = sum(each.memory_info().rss for each in both)
        finally:
            app.stop()
    return {
        "ready_seconds_warm": round(ready, 2),
        "idle_cpu_percent": round(100 * used / IDLE_SECONDS, 2),
        "rss_mb": round(rss / 2**20, 1),
        "held": ready <= 2 and used / IDLE_SECONDS <= 0.01 and rss <= 150 * 2**20,
    }
