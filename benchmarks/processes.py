"""The cost of the two processes: start, memory (150 MB, 190 with /mcp in use), an idle CPU.

Without a model: `vectors` reports the cost of a model.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Final

import psutil

from app import App  # of e2e/
from benchmarks.measure import sized

IDLE_SECONDS: Final = sized(15, short=2)
ALONE_MB: Final = 150
WITH_TOOLS_MB: Final = 190
HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
SAID: Final = {"title": "WAL", "content": "The database runs in WAL mode", "type": "decision"}


def run() -> dict[str, Any]:
    """Start both processes, leave them idle, and measure them."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        app = App(Path(directory) / "home")
        app.start()
        app.stop()
        app.env["LAMPLIGHTER_VECTORS"] = "off"
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
            rss = _megabytes(both)
            _use_tools(app)
            with_tools = _megabytes(both)
        finally:
            app.stop()
    return {
        "ready_seconds_warm": round(ready, 2),
        "idle_cpu_percent": round(100 * used / IDLE_SECONDS, 2),
        "rss_mb": rss,
        "rss_mb_with_tools": with_tools,
        "held": ready <= 2
        and used / IDLE_SECONDS <= 0.01
        and rss <= ALONE_MB
        and with_tools <= WITH_TOOLS_MB,
    }


def _use_tools(app: App) -> None:
    """Act as an agent: initialize, list the tools, save and search."""
    words = [sys.executable, "-m", "lamplighter", "token", "create", "--scope", "knowledge:write"]
    made = subprocess.check_output(
        words, env=app.env, text=True, stderr=subprocess.PIPE, timeout=60
    )
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {made.split()[-1]}",
    }
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", HELLO),
        ("tools/list", {}),
        *[("tools/call", {"name": "mem_save", "arguments": SAID})] * 20,
        *[("tools/call", {"name": "mem_search", "arguments": {"query": "database"}})] * 20,
    ]
    for number, (method, given) in enumerate(asked):
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": given}
        request = urllib.request.Request(
            f"{app.url}/mcp", data=json.dumps(body).encode(), headers=headers
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b'"isError":true' not in answer.read()


def _megabytes(processes: list[psutil.Process]) -> float:
    return round(sum(each.memory_info().rss for each in processes) / 2**20, 1)
